"""A writer of small Outlook archives, after Microsoft's open specification [MS-PST].

Unicode archives without encryption: a tree of folders with messages, whose recipients
stand in a table. No value may be longer than one block. What Outlook itself leaves in a
file and no reader of mail asks for is missing: allocation maps, search folders, most
columns of tables.
"""

import struct
import zlib
from dataclasses import dataclass, field

STRING, BINARY, LONG, TIME = 0x001F, 0x0102, 0x0003, 0x0040
_FOLDER, _MESSAGE = 0x02, 0x04
_RECIPIENTS = 0x0692
_ROOT = 0x122
_LONGEST = 3000
_EPOCH = 11_644_473_600


def text(words):
    return words.encode("utf-16-le", "surrogatepass")


def moment(seconds):
    return struct.pack("<Q", (seconds + _EPOCH) * 10_000_000)


@dataclass
class Folder:
    """A folder; properties of messages by (id, type), as bytes."""

    name: str
    messages: list = field(default_factory=list)
    folders: list = field(default_factory=list)


def note(*, recipients=(), **values):
    """The properties of a message, and the rows of the table of its recipients."""
    tags = {
        "kind": (0x001A, STRING),
        "subject": (0x0037, STRING),
        "sent": (0x0039, TIME),
        "headers": (0x007D, STRING),
        "sender": (0x0C1A, STRING),
        "address_type": (0x0C1E, STRING),
        "address": (0x0C1F, STRING),
        "smtp": (0x5D01, STRING),
        "plain": (0x1000, STRING),
        "html": (0x1013, BINARY),
        "message_id": (0x1035, STRING),
        "answers": (0x1042, STRING),
        "codepage": (0x3FDE, LONG),
    }
    given = {"kind": "IPM.Note", **values}
    return {tags[n]: _packed(tags[n][1], v) for n, v in given.items()}, recipients


def _packed(kind, value):
    if kind == STRING:
        return text(value)
    return {TIME: moment, LONG: lambda n: struct.pack("<i", n)}.get(kind, bytes)(value)


def archive(*folders):
    """The bytes of an archive with these folders at its top."""
    return _Archive().built(Folder("", folders=list(folders)))


class _Heap:
    """Values of up to some thousand bytes in one block (a "heap-on-node")."""

    def __init__(self, signature):
        self.signature = signature
        self.values = []

    def keep(self, value):
        """The id under which a value is found."""
        self.values.append(value)
        return len(self.values) << 5

    def packed(self, root):
        at, places, data = 12, [], b""
        for value in self.values:
            places.append(at + len(data))
            data += value
        places.append(at + len(data))
        data += b"\0" * (len(data) % 2)
        header = struct.pack("<HBBI4x", at + len(data), 0xEC, self.signature, root)
        count = len(self.values)
        return header + data + struct.pack(f"<HH{count + 1}H", count, 0, *places)

    def tree(self, rows, key, entry):
        """The id of a sorted list of rows, as all lists of fixed size are kept."""
        kept = self.keep(b"".join(rows)) if rows else 0
        return self.keep(struct.pack("<BBBBI", 0xB5, key, entry, 0, kept))


class _Archive:
    def __init__(self):
        self.data = bytearray(1024)
        self.blocks = []
        self.nodes = []
        self.next_id = 0x400

    def built(self, root):
        store, _ = self._properties({(0x0FF9, BINARY): b"\0" * 16})
        self.nodes.append((0x21, store, 0, 0))
        self._folder(root, _ROOT, _ROOT)
        self.data += b"\0" * (-len(self.data) % 512)
        blocks = [struct.pack("<QQHH4x", *b, 2) for b in sorted(self.blocks)]
        nodes = [struct.pack("<QQQI4x", *n) for n in sorted(self.nodes)]
        roots = self._pages(nodes, 0x81, 32), self._pages(blocks, 0x80, 24)
        self.data[:564] = _header(len(self.data), *roots)
        return bytes(self.data)

    def _folder(self, folder, nid, parent):
        properties, _ = self._properties({(0x3001, STRING): text(folder.name)})
        self.nodes.append((nid, properties, 0, parent))
        letters = [self._message(message, nid) for message in folder.messages]
        self._listed(nid + 12, letters)
        inner = {self._nid(_FOLDER): one for one in folder.folders}
        self._listed(nid + 11, inner)
        for own_id, one in inner.items():
            self._folder(one, own_id, nid)

    def _message(self, message, parent):
        properties, recipients = message
        more = {}
        if recipients:
            more[_RECIPIENTS] = self._block(_recipients(recipients))
        nid = self._nid(_MESSAGE)
        self.nodes.append((nid, *self._properties(properties, more), parent))
        return nid

    def _listed(self, nid, ids):
        """The table that says which messages or folders are in a folder."""
        table = self._block(_table([], dict.fromkeys(ids, ())))
        self.nodes.append((nid, table, 0, 0))

    def _nid(self, kind):
        self.next_id += 1
        return self.next_id << 5 | kind

    def _properties(self, values, more=None):
        """(block, block of inner nodes or 0); long values become inner nodes."""
        heap, rows, inner = _Heap(0xBC), [], dict(more or {})
        for (name, kind), value in sorted(values.items()):
            if kind == LONG:
                place = value
            elif len(value) > _LONGEST:
                nid = self._nid(0x1F)
                inner[nid] = self._block(value)
                place = struct.pack("<I", nid)
            else:
                place = struct.pack("<I", heap.keep(value) if value else 0)
            rows.append(struct.pack("<HH", name, kind) + place)
        data = self._block(heap.packed(heap.tree(rows, 2, 6)))
        if not inner:
            return data, 0
        entries = [struct.pack("<QQQ", n, b, 0) for n, b in sorted(inner.items())]
        listed = struct.pack("<BBH4x", 2, 0, len(entries)) + b"".join(entries)
        return data, self._block(listed, internal=True)

    def _block(self, content, *, internal=False):
        bid = (len(self.blocks) + 1) * 4 + 2 * internal
        at = len(self.data)
        self.data += content + b"\0" * (-(len(content) + 16) % 64)
        self.data += struct.pack(
            "<HHIQ", len(content), _signature(at, bid), _checksum(content), bid
        )
        self.blocks.append((bid, at, len(content)))
        return bid

    def _pages(self, entries, kind, size):
        """(id, place) of the root of a tree of pages with these entries."""
        most, level = 488 // size, 0
        while True:
            made = []
            for first in range(0, max(1, len(entries)), most):
                some = entries[first : first + most]
                made.append((some, self._page(some, kind, level, most, size)))
            if len(made) == 1:
                return made[0][1]
            entries = [some[0][:8] + struct.pack("<QQ", *root) for some, root in made]
            level, size, most = level + 1, 24, 488 // 24

    def _page(self, entries, kind, level, most, size):
        at, bid = len(self.data), (len(self.data) // 512) * 4
        page = b"".join(entries).ljust(488, b"\0")
        page += struct.pack("<BBBB4x", len(entries), most, size, level)
        self.data += page + struct.pack(
            "<BBHIQ", kind, kind, _signature(at, bid), _checksum(page), bid
        )
        return bid, at


def _recipients(rows):
    """The table of (name, address, smtp address, 1: to or 2: cc)."""
    columns = [(0x0C15, LONG), (0x3001, STRING), (0x3003, STRING), (0x39FE, STRING)]
    return _table(columns, {n: (row[3], *row[:3]) for n, row in enumerate(rows)})


def _table(columns, rows):
    """Rows of numbers and texts by their ids (a "table context")."""
    heap, lines, index = _Heap(0x7C), [], []
    columns = [(0x67F2, LONG), (0x67F3, LONG), *columns]
    width = 4 * len(columns)
    for number, (row_id, values) in enumerate(sorted(rows.items())):
        cells = [v if isinstance(v, int) else v and heap.keep(text(v)) for v in values]
        filled = [True, True, *(isinstance(v, int) or bool(v) for v in values)]
        bits = sum(one << (7 - at) for at, one in enumerate(filled))
        cells = [cell or 0 for cell in cells]
        lines.append(struct.pack(f"<{len(columns)}IB", row_id, 0, *cells, bits))
        index.append(struct.pack("<II", row_id, number))
    described = [
        struct.pack("<HHHBB", kind, name, 4 * at, 4, at)
        for at, (name, kind) in enumerate(columns)
    ]
    described.sort(key=lambda column: struct.unpack("<HH", column[:4])[::-1])
    rows_id = heap.keep(b"".join(lines)) if lines else 0
    index_id = heap.tree(index, 4, 4)
    about = struct.pack("<BB4HIII", 0x7C, len(columns), width, width, width, width + 1,
                        index_id, rows_id, 0)  # fmt: skip
    return heap.packed(heap.keep(about + b"".join(described)))


def _header(size, nodes, blocks):
    head = bytearray(564)
    struct.pack_into("<2sHHBB", head, 8, b"SM", 23, 19, 1, 1)
    struct.pack_into("<Q", head, 184, size)
    struct.pack_into("<QQQQ", head, 216, *nodes, *blocks)
    head[248], head[512] = 2, 0x80
    struct.pack_into("<I", head, 524, _checksum(head[8:524]))
    struct.pack_into("<4sI", head, 0, b"!BDN", _checksum(head[8:479]))
    return head


def _signature(at, bid):
    mixed = at ^ bid
    return (mixed >> 16 ^ mixed) & 0xFFFF


def _checksum(data):
    """CRC-32 without the inversions at its ends."""
    return zlib.crc32(bytes(data), 0xFFFFFFFF) ^ 0xFFFFFFFF
