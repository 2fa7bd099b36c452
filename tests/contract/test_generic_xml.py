"""XML files: two generations of log entries, and any other by a map."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.errors import IngestionError
from tests.contract.reading_files import Poller

NUMBERED = """<?xml version="1.0" encoding="UTF-8"?>
<Logentry><lognumber>4410233</lognumber><title>Arc 4 BPM noisy</title>
<created>2024-06-10T03:45:00-04:00</created><Author><username>tn</username></Author>
<Logbooks><logbook>ELOG</logbook><logbook>OPS</logbook></Logbooks>
<Tags><tag>Diagnostics</tag></Tags>
<body type="html"><![CDATA[<p>Reads <b>2 mm</b> off &amp; more</p>]]></body>
<Attachments><Attachment><caption>Plot</caption><type>image/png</type>
<filename>bpm.png</filename><data encoding="url">https://log.test/bpm.png</data>
</Attachment><Attachment><filename>in.txt</filename><data encoding="base64">AAAA</data>
</Attachment></Attachments></Logentry>"""
ELDER = (
    '<?xml version="1.0" encoding="ISO-8859-1"?>\n<log_entry type="LOGENTRY">'
    "<title>Größe</title><timestamp>2004/06/10 12:00:00</timestamp>"
    "<priority>High</priority><text>a &lt; b\x01</text><logbook>MCC</logbook>"
    "<log_user>jr</log_user></log_entry>"
)


def polled(folder: Path, data: bytes, **args: Any) -> Poller:
    (folder / "log.xml").write_bytes(data)
    given: Mapping[str, Any] = {
        "adapter": "generic_xml",
        "path": str(folder / "*.xml"),
        "timezone": "US/Eastern",
        "args": args,
    }
    found = Poller(given)
    found.poll()
    return found


def test_a_numbered_entry_is_read_with_its_files(tmp_path):
    entry = polled(tmp_path, NUMBERED.encode()).entries["4410233"]
    assert entry.entry_time == datetime(2024, 6, 10, 7, 45, tzinfo=UTC)
    assert entry.text == "<p>Reads <b>2 mm</b> off &amp; more</p>"
    assert entry.text_format == "html"
    assert (entry.authors, entry.logbooks) == (("tn",), ("ELOG", "OPS"))
    assert entry.tags == ("Diagnostics",)
    assert [(one.filename, one.url, one.caption) for one in entry.attachments] == [
        ("bpm.png", "https://log.test/bpm.png", "Plot"),
        ("in.txt", None, None),
    ]
    assert entry.metadata == {}


@pytest.mark.parametrize("charset", ["utf-8", "cp1252", "utf-16"])
def test_an_entry_of_the_elder_kind_is_read_in_any_charset(charset, tmp_path):
    text = ELDER.replace("ISO-8859-1", "UTF-16") if charset == "utf-16" else ELDER
    found = polled(tmp_path, text.encode(charset))
    (entry,) = found.entries.values()
    assert entry.external_id.startswith("sha256:")
    assert (entry.title, entry.text) == ("Größe", "a < b ")
    assert entry.entry_time == datetime(2004, 6, 10, 16, 0, tzinfo=UTC)
    assert (entry.level, entry.authors) == ("High", ("jr",))
    assert entry.metadata == {"@type": "LOGENTRY"}


def test_any_element_is_a_record_by_a_map(tmp_path):
    data = (
        b'<x:log xmlns:x="urn:x"><head><n>1</n></head><day><x:e n="7"><t>1718000000'
        b"</t><say lang='de'>Hallo</say></x:e></day></x:log>"
    )
    fields = {"external_id": "@n", "entry_time": "t", "text": "say"}
    entry = polled(tmp_path, data, item="e", map=fields).entries["7"]
    assert (entry.text, entry.metadata) == ("Hallo", {"say@lang": "de"})


@pytest.mark.parametrize(
    "data",
    [
        b"<a><b>1</b>",
        b"no xml",
        b'<!DOCTYPE a [<!ENTITY x "y">]><a><b>&x;</b></a>',
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><b>&x;</b></a>',
    ],
)
def test_what_is_no_xml_or_brings_entities_is_refused(data, tmp_path):
    with pytest.raises(IngestionError) as caught:
        polled(tmp_path, data)
    assert caught.value.reason == "unexpected_shape"


def test_nesting_beyond_any_sense_is_read_as_text(tmp_path):
    deep = b"<d>" * 5000 + b"x" + b"</d>" * 5000
    data = b"<a><log_entry><timestamp>1718000000</timestamp>" + deep
    found = polled(tmp_path, data + b"</log_entry></a>")
    assert len(found.entries) == 1
