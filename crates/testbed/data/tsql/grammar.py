"""Says what is wrong with T-SQL texts: sqlfluff parses them, and rules beside it hold what its dialect lets pass.

The first line of the input has what the documentation says (reserved words, types, statements that the dialect does not
know). Each further line is a text as JSON, and is answered by a line with the list of its offences.
"""

import json
import logging
import re
import sys

from sqlfluff.core import FluffConfig, Linter

logging.disable(logging.CRITICAL)

TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>[Nn]?'(?:[^']|'')*')
    |(?P<name>\[(?:[^\]]|\]\])*\]|"(?:[^"]|"")*")
    |(?P<number>0[xX][0-9a-fA-F]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<variable>@@?[\w$#@]+)
    |(?P<word>[^\W\d][\w$#@]*|\#[\w$#@]+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token:
    """A piece of a text that is no blank and no comment."""

    def __init__(self, match):
        self.kind, self.raw, self.start, self.end = match.lastgroup, match.group(), match.start(), match.end()
        # What it is to a form: names, texts, numbers and variables stand for all of their kind.
        signs = {"text": "''", "name": "[]", "number": "0", "variable": "@"}
        self.shape = signs.get(self.kind) or self.raw.upper()


def tokens(text):
    return [Token(match) for match in TOKEN.finditer(text) if match.lastgroup != "blank"]


def expression(form, known):
    """The regular expression of a form, over the shapes of tokens with a blank behind each."""
    word = rf"(?:\[\] |(?!(?:{'|'.join(known['reserved'])}) )[^\W\d][\w$#@]* )"
    types = "|".join(sorted(known["types"], key=len, reverse=True)).upper()
    places = {
        "<name>": rf"{word}(?:\. {word}){{0,2}}",
        "<text>": "'' ",
        "<number>": "0 ",
        "<variable>": "@ ",
        "<type>": rf"(?:{types}) (?:\( (?:0|MAX) (?:, 0 )?\) )?",
        "[": "(?:",
        "]": ")?",
        "]*": ")*",
        "{": "(?:",
        "}": ")",
        "|": "|",
    }
    return re.compile("".join(places.get(part) or re.escape(part.upper() + " ") for part in form.split()))


def place(text, at):
    """Line and position of a place, from 1 on."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class Grammar:
    def __init__(self, known):
        self.reserved, self.types = set(known["reserved"]), known["types"]
        self.gaps = [expression(form, known) for form in known["gaps"]]
        config = FluffConfig(overrides={"dialect": "tsql", "templater": "raw"}, ignore_local_config=True)
        self.linter = Linter(config=config)

    def check(self, text):
        """The offences of a text that is one batch."""
        text = text.replace("\r\n", " \n")
        found = []
        all_tokens = tokens(text)
        for before, token in zip(all_tokens, all_tokens[1:]):
            if before.raw == "." and token.kind == "word" and token.raw.upper() in self.reserved:
                found.append(self.offence(text, token.start, token.raw, "a reserved word needs brackets"))
            if before.raw in ",(" and token.raw == "," or before.raw == "," and token.raw == ")":
                found.append(self.offence(text, token.start, token.raw, "something is missing between two signs"))
        for token in all_tokens:
            if token.kind == "sign" and token.raw in "'\"[]":
                found.append(self.offence(text, token.start, token.raw, "what is quoted does not end, or does not begin"))
            elif token.kind == "sign" and token.raw in "`?\\":
                found.append(self.offence(text, token.start, token.raw, "the sign has no meaning"))
        found += self.dynamic(text, all_tokens)
        rest = self.without_gaps(text, all_tokens)
        if rest.strip(" \n\t;"):
            found += self.parsed(rest)
        return sorted(found, key=lambda offence: (offence["line"], offence["position"]))

    def offence(self, text, at, near, what):
        line, position = place(text, at)
        return {"line": line, "position": position, "near": near, "keyword": near.upper() in self.reserved, "what": what}

    def without_gaps(self, text, all_tokens):
        """The text with blanks for statements of the forms that the dialect does not know, and other names for those with
        brackets in them, which its lexer does not know. Everything stays at its place."""
        chars = list(text)
        statement = []
        for token in [*all_tokens, None]:
            if token is not None and token.raw.startswith("["):
                chars[token.start + 1 : token.end - 1] = re.sub(r"[\[\]]", "_", token.raw[1:-1])
            if token is not None and token.raw != ";":
                statement.append(token)
                continue
            shape = "".join(one.shape + " " for one in statement)
            if any(gap.fullmatch(shape) for gap in self.gaps):
                start, end = statement[0].start, statement[-1].end
                chars[start:end] = ["\n" if char == "\n" else " " for char in chars[start:end]]
            statement = []
        return "".join(chars)

    def dynamic(self, text, all_tokens):
        """Offences of texts that EXEC runs. Variables stand for a letter in them."""
        found = []
        for at, token in enumerate(all_tokens):
            if token.shape not in ("EXEC", "EXECUTE") or [t.raw for t in all_tokens[at + 1 : at + 2]] != ["("]:
                continue
            inner, following = "", all_tokens[at + 2 :]
            for part in following:
                if part.kind == "text":
                    inner += part.raw[part.raw.index("'") + 1 : -1].replace("''", "'")
                elif part.kind == "variable":
                    inner += "x"
                elif part.raw != "+":
                    break
            for offence in self.check(inner):
                what = f"in the text that EXEC runs: {offence['what']}"
                found.append({**self.offence(text, token.start, offence["near"], what), "keyword": offence["keyword"]})
        return found

    def parsed(self, text):
        """What the parser has against a text; if nothing, what the rules have."""
        violations, against = self.judged(text)
        if not violations:
            return against
        culprits = self.culprits(text)
        if culprits:
            return [self.offence(text, at.start, at.raw, "a reserved word needs brackets") for at in culprits]
        found = []
        for violation in violations:
            line, position = violation.line_no, violation.line_pos
            behind = [t for t in tokens(text) if place(text, t.start) >= (line, position)]
            near = behind[0].raw if behind else ""
            what = re.sub(r"^Line \d+, Position \d+: ", "", violation.desc().split(". Expected")[0])
            keyword = near.upper() in self.reserved
            found.append({"line": line, "position": position, "near": near, "keyword": keyword, "what": what})
        return found

    def judged(self, text):
        """What the parser has against a text, and what the rules have if that is nothing."""
        result = self.linter.parse_string(text)
        violations, variant = result.violations, result.root_variant()
        return violations, [] if violations or not variant else list(self.walk(variant.tree))

    def culprits(self, text):
        """The reserved words that make a text one that can't be parsed: in brackets they would be names."""
        all_tokens = tokens(text)
        raws = [token.raw for token in all_tokens]
        # Brackets would not mend a text with a quote or a parenthesis too few.
        if raws.count("(") != raws.count(")") or any(sign in raws for sign in ("'", '"', "[", "]")):
            return []
        words = [token for token in all_tokens if token.kind == "word" and token.raw.upper() in self.reserved]
        for chosen in [[word] for word in words] + [self.like_columns(all_tokens)]:
            tried = text
            for word in reversed(chosen):
                tried = f"{tried[: word.start]}[{word.raw}]{tried[word.end :]}"
            if chosen and self.judged(tried) == ([], []):
                return chosen
        return []

    def like_columns(self, all_tokens):
        """Reserved words at places of columns: behind a parenthesis or comma, before a type, a comma or the end."""
        triples = zip(all_tokens, all_tokens[1:], all_tokens[2:])
        ends = {*(name.split(" ")[0] for name in self.types), ",", ")", "="}
        return [
            word
            for before, word, behind in triples
            if before.raw in "(,." and word.raw.upper() in self.reserved and behind.raw.lower() in ends
        ]

    def walk(self, segment, parent=None):
        """What the rules have against a part of the tree and its parts."""
        rule = RULES.get(segment.get_type())
        for near, what in rule(self, segment, parent) if rule else ():
            marker = near.pos_marker
            raw = next(part.raw for part in near.raw_segments if part.is_code and part.raw)
            line, position = marker.source_position()
            keyword = raw.upper() in self.reserved
            yield {"line": line, "position": position, "near": raw, "keyword": keyword, "what": what}
        for child in segment.segments:
            yield from self.walk(child, segment)


def code(segment):
    return [child for child in segment.segments if child.is_code]


def words(segment):
    return [child.raw.upper() for child in code(segment) if child.is_type("keyword")]


def has(segment, kind):
    return any(child.is_type(kind) for child in segment.segments)


def before(segment, parent):
    """What stands before a segment of the same parent."""
    siblings = code(parent)
    at = next(index for index, sibling in enumerate(siblings) if sibling is segment)
    return siblings[at - 1] if at else None


def statement(grammar, segment, parent):
    children = code(segment)
    first = children[0]
    previous = before(segment, parent)
    begins_batch = previous is None and parent.is_type("batch")
    if first.is_type("execute_script_statement") and not begins_batch and words(first)[:1] not in (["EXEC"], ["EXECUTE"]):
        yield first, "a procedure is called without EXEC, and not as the first thing of a batch"
    if first.is_type("with_compound_statement") and previous is not None and previous.is_type("statement"):
        yield first, "a semicolon is missing before WITH"
    if first.is_type("merge_statement") and not has_end(segment, parent):
        yield first, "a semicolon is missing behind MERGE"
    if first.is_type("values_clause"):
        yield first, "VALUES is no statement"
    if first.is_type(*ALONE) and (previous is not None or not parent.is_type("batch")):
        yield first, "this has to be the first statement of a batch"


ALONE = (
    "create_schema_statement",
    "create_procedure_statement",
    "create_function_statement",
    "create_view_statement",
    "create_trigger",
)


def has_end(segment, parent):
    siblings = code(parent)
    at = next(index for index, sibling in enumerate(siblings) if sibling is segment)
    return siblings[at + 1 : at + 2] != [] and siblings[at + 1].is_type("statement_terminator")


def identifier(grammar, segment, parent):
    if segment.raw.upper() in grammar.reserved:
        yield segment, "a reserved word needs brackets"


def data_type(grammar, segment, parent):
    if parent.is_type("cast_expression"):
        return
    name, numbers = type_of(segment)
    if name is None:
        return
    limits = grammar.types.get(name)
    if limits is None:
        yield segment, f"{name} is no type"
    elif len(numbers) > len(limits):
        yield segment, f"{name} takes fewer numbers"
    for number, limit in zip(numbers, limits or []):
        least, most = limit[:2]
        if number == "max" and "max" in limit:
            continue
        if not number.isdigit() or not least <= int(number) <= most:
            yield segment, f"{name} takes {least} to {most}, not {number}"


def type_of(segment):
    """The name of a type and the numbers behind it; no name for a type with a schema, which may be a user's."""
    parts, numbers = [], []
    for child in code(segment):
        if child.is_type("dot"):
            return None, []
        if child.is_type("bracketed_arguments"):
            raw = [one.raw.lower() for one in child.raw_segments if one.is_code]
            numbers = [one for one in raw if one not in "(,)"]
        elif child.is_type("keyword", "data_type_identifier", "quoted_identifier"):
            parts.append(child.raw.lower().strip('[]"'))
    return " ".join(parts) or None, numbers


def casting(grammar, segment, parent):
    kind = next(child for child in code(segment) if child.is_type("data_type"))
    # A method of a type may stand behind two colons.
    name, _ = type_of(kind)
    operator = next(child for child in code(segment) if child.is_type("casting_operator"))
    if name is None or name in grammar.types or not has(kind, "bracketed_arguments"):
        yield operator, "values are converted by CAST"


def call(grammar, segment, parent):
    children = code(segment)
    for left, right in zip(children, children[1:]):
        if left.is_type("expression") and right.is_type("expression") and right.raw.upper() not in ("OUTPUT", "OUT"):
            yield right, "a comma is missing between arguments"


def join(grammar, segment, parent):
    kinds = words(segment)
    wanted = not {"CROSS", "APPLY"} & set(kinds)
    if wanted and not has(segment, "join_on_condition"):
        yield code(segment)[0], "a join needs ON"
    if "CROSS" in kinds and has(segment, "join_on_condition"):
        yield code(segment)[0], "a cross join takes no ON"


def table_expression(grammar, segment, parent):
    inner = code(segment)[0]
    if inner.is_type("bare_function"):
        yield inner, "a function stands for a table"
    elif inner.is_type("bracketed") and parent.is_type("from_expression_element"):
        held = code(inner)[1:2]
        query = held and held[0].is_type("select_statement", "set_expression", "values_clause", "with_compound_statement")
        if query and not has(parent, "alias_expression"):
            yield inner, "a query that stands for a table needs a name"


def alias(grammar, segment, parent):
    name = code(segment)[-1]
    if parent.is_type("update_statement"):
        yield segment, "the table of UPDATE takes no alias"
    elif parent.is_type("from_expression_element") and name.raw.startswith(("'", "N'")):
        yield name, "a text is no name of a table"


def tuple_of(grammar, segment, parent):
    if parent.is_type("expression") and has(segment, "comma"):
        previous = before(segment, parent)
        if previous is None or previous.raw.upper() != "IN":
            if not GROUPING.intersection(kind for kind in grammar_path(segment)):
                yield segment, "there are no tuples"


GROUPING = {"grouping_expression_list", "grouping_sets_clause", "groupby_clause"}


def grammar_path(segment):
    """The types of what a segment stands in."""
    parent = segment.get_parent()
    while parent:
        yield parent[0].get_type()
        parent = parent[0].get_parent()


def never(what, *only):
    """A rule against a part that stands in the dialect for others' sake: always, or with one of these words."""

    def rule(grammar, segment, parent):
        if not only or set(only) & set(words(segment)):
            yield segment, what

    return rule


RULES = {
    "alias_expression": alias,
    "boolean_literal": never("there are no truth values"),
    "bracketed": tuple_of,
    "cast_expression": casting,
    "data_type": data_type,
    "drop_table_statement": never("nothing cascades", "CASCADE", "RESTRICT"),
    "drop_schema_statement": never("nothing cascades", "CASCADE", "RESTRICT"),
    "drop_view_statement": never("nothing cascades", "CASCADE", "RESTRICT"),
    "execute_script_statement": call,
    "function": never("aggregates take no FILTER", "FILTER"),
    "go_statement": never("GO is for clients"),
    "join_clause": join,
    "naked_identifier": identifier,
    "set_operator": never("UNION takes no DISTINCT", "DISTINCT"),
    "statement": statement,
    "table_expression": table_expression,
    "with_compound_statement": never("WITH takes no RECURSIVE", "RECURSIVE"),
}


def main():
    grammar = Grammar(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        sys.stdout.write(json.dumps(grammar.check(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
