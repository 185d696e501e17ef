package io.jrun.train.json;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Messages of Jackson's parser in the words of a user of a file: without Java's names, and without advice for Java. */
final class JsonErrorText {
    private record Rule(Pattern pattern, String words) {
        Rule(String expression, String words) {
            this(Pattern.compile(expression), words);
        }
    }

    /** The rules apply in this order. A message that no rule knows stays. */
    private static final List<Rule> RULES = List.of(
            new Rule("\\[Source: [^;]*; line: (\\d+), column: (\\d+)]", "line $1, column $2"),
            new Rule(" \\(start marker at (.*)\\)$", ": it begins at $1"),
            new Rule(": enable `.*` to allow$", " is not JSON"),
            new Rule("maybe a \\(non-standard\\) comment\\?.*", "expected no comment"),
            new Rule("\\(\\(CTRL-CHAR, code (\\d+)\\)\\)", "the control character $1"),
            new Rule("\\((.*) \\(code \\d+\\)\\)", "$1"),
            new Rule(" \\(code \\d+\\)", ""),
            new Rule("^Unexpected character (.*?)(?: in numeric value)?: (?=[^:]*$)", "found $1, "),
            new Rule("^Unexpected close marker (.*): ", "found $1, "),
            new Rule("^Unrecognized token ('.*'): ", "found $1, "),
            new Rule("^Unexpected end-of-input within/between.*", "found the end inside of an object or a list"),
            new Rule(".* surrogate.* in field name.*", "the key has half a surrogate pair"),
            new Rule("^Unexpected end-of-input:? ?", "found the end, "),
            new Rule("was expecting", "expected"),
            new Rule("\\(?JSON String, Number, Array.*", "a value"),
            new Rule("expected a valid value.*", "expected a value"),
            new Rule("double-quote to start field name", "a key in double quotes"),
            new Rule("a colon to separate field name and value", "':'"),
            new Rule("comma to separate Object entries", "',' or '}'"),
            new Rule("comma to separate Array entries", "',' or ']'"),
            new Rule("close marker for Object", "'}' of the object"),
            new Rule("close marker for Array", "']' of the list"),
            new Rule("(Decimal point|Exponent indicator) not followed by a digit", "expected a digit"),
            new Rule("expected digit \\(0-9\\) to follow minus sign, for valid numeric value", "expected a digit"),
            new Rule("a hex-digit for character escape sequence", "four hexadecimal digits"),
            new Rule("^Invalid numeric value: Leading zeroes not allowed", "found a number with leading zeros"),
            new Rule("^Illegal unquoted character", "found"),
            new Rule(
                    ": has to be escaped using backslash to be included in string value",
                    " in a string, expected an escape"),
            new Rule("^Unrecognized character escape", "found an unknown escape behind a backslash:"),
            new Rule("^Non-standard token", "the value"));

    private JsonErrorText() {}

    /** The words of a message; on one line. */
    static String of(String message) {
        String text = message;
        for (Rule rule : RULES) {
            Matcher matcher = rule.pattern().matcher(text);
            text = matcher.replaceAll(rule.words());
        }
        return OneLine.of(text);
    }
}
