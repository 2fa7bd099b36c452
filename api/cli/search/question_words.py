"""Words of a question behind a minus: they are no options, and reach it as typed."""

from collections.abc import Collection, Iterable, Sequence

import click

from api.cli.output import Output

_LEAST_LETTERS = 2
# How `--json=full` is said where `--json` alone prints less.
_WHOLE = "--whole"


class QuestionCommand(click.Command):
    """A command whose words may begin with a minus, as in `beam -injection`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take words out from among the options, in their order."""
        if not ctx.resilient_parsing:
            args = self._apart(ctx, args)
        return super().parse_args(ctx, args)

    def _apart(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        valued, flags = _options(self.get_params(ctx))
        options: list[str] = []
        words: list[str] = []
        rest = iter(args)
        for arg in rest:
            if arg == "--":
                words += rest
            elif arg in valued:
                value = next(rest, None)
                if value is None:
                    ctx.fail(f"Option {arg!r} requires an argument.")
                options += [arg, value]
            elif arg == "--json=full" and _WHOLE in flags:
                options += ["--json", _WHOLE]
            elif arg.startswith("--") or arg in flags:
                options.append(arg)
            else:
                self._check(ctx, arg, valued | flags)
                words.append(arg)
        return [*options, "--", *words]

    def _check(self, ctx: click.Context, arg: str, known: Collection[str]) -> None:
        """Refuse a lone letter: it is more likely an option of another program."""
        name = arg.removeprefix("-")
        if name == arg:
            return
        if name.isalpha() and len(name) < _LEAST_LETTERS:
            near = sorted(one for one in known if one.startswith(f"--{name}"))
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"No such option '{arg}'.{meant} To exclude a word: NOT {name}.")
        out = ctx.find_object(Output)
        if f"-{arg}" in known and out is not None:
            out.say(f"{arg} is read as NOT {name}; the option is -{arg}.")


def _options(params: Iterable[click.Parameter]) -> tuple[set[str], set[str]]:
    """Return the names of options that take a value, and of those that take none."""
    valued: set[str] = set()
    flags: set[str] = set()
    for one in params:
        if isinstance(one, click.Option):
            is_flag = one.is_flag or one.count
            (flags if is_flag else valued).update([*one.opts, *one.secondary_opts])
    return valued, flags
