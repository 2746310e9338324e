"""XML of documents, read as a stream. Entities are refused, so none can explode."""

from collections.abc import Callable
from xml.parsers import expat

from personal_store.errors import SourceError

Start = Callable[[str, dict[str, str]], None]


def read_xml(
    data: bytes,
    start: Start,
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Tell of each element, by its name without namespace, and of each text.

    Raises SourceError for what is no XML, or declares a document type: word processors
    never do, attackers must.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = lambda name, given: start(
        local(name), {local(key): value for key, value in given.items()}
    )
    parser.EndElementHandler = lambda name: end(local(name))
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise SourceError(f"its XML is broken: {error}") from error


def local(name: str) -> str:
    """'w:p' is 'p'."""
    return name.rpartition(":")[2]


def _refuse(*_: object) -> None:
    raise SourceError("its XML declares a document type, which is not read")
