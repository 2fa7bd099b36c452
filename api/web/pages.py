"""Every page, in the order in which its address is looked for."""

from api.web.routes import (
    assets,
    choices,
    digest_page,
    entry_page,
    help_page,
    home_page,
    job_pages,
    live_page,
    login_page,
    operation_pages,
    saved_page,
    search_page,
    source_pages,
)

ROUTERS = (
    # Where a browser is shown a page and a program is given JSON, the page comes first.
    entry_page.beside_data,
    *(
        module.router
        for module in (
            *(home_page, search_page, entry_page, live_page, digest_page, job_pages),
            *(saved_page, source_pages, operation_pages, help_page, login_page),
            *(choices, assets),
        )
    ),
)
