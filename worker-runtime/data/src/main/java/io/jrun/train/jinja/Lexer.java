package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Splits a template into tokens. White space is cut as Hugging Face's environment does: {@code trim_blocks} and {@code
 * lstrip_blocks} are on.
 */
final class Lexer {
    private static final Pattern TAG = Pattern.compile("\\{[{%#]");
    private static final Pattern END_OF_RAW = Pattern.compile("\\{%[-+]?\\s*endraw\\s*[-+]?%}");
    private static final Pattern SPACE = Pattern.compile("\\s+");
    private static final Pattern NUMBER = Pattern.compile("\\d+(?:_\\d+)*(\\.\\d+)?([eE][+-]?\\d+)?");
    private static final Pattern NAME = Pattern.compile("[\\p{L}_][\\p{L}\\p{N}_]*");
    private static final Pattern STRING =
            Pattern.compile("'((?:[^'\\\\]|\\\\.)*+)'|\"((?:[^\"\\\\]|\\\\.)*+)\"", Pattern.DOTALL);
    private static final Pattern OPERATOR = Pattern.compile("\\*\\*|//|==|!=|<=|>=|[-+*/%~<>=.:|,;()\\[\\]{}]");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(x\\p{XDigit}{2}|u\\p{XDigit}{4}|.)", Pattern.DOTALL);
    private static final Pattern BLANKS = Pattern.compile("[ \\t]*");

    private final String source;
    private final List<Token> tokens = new ArrayList<>();
    private int at;
    private int line = 1;
    /** Whether the text before {@link #at} ends with a line end. */
    private boolean isAtLineStart = true;

    private Lexer(String source) {
        this.source = source;
    }

    static List<Token> tokens(String template) {
        String source = template.replace("\r\n", "\n").replace('\r', '\n');
        Lexer lexer = new Lexer(source.endsWith("\n") ? source.substring(0, source.length() - 1) : source);
        lexer.run();
        return lexer.tokens;
    }

    private void run() {
        Matcher tag = TAG.matcher(source);
        while (tag.find(at)) {
            boolean isOutput = source.charAt(tag.start() + 1) == '{';
            char sign = tag.end() < source.length() ? source.charAt(tag.end()) : ' ';
            text(source.substring(at, tag.start()), sign, isOutput);
            moveTo(tag.end());
            if (source.charAt(at - 1) == '#') {
                comment();
                continue;
            }
            if (sign == '-' || (sign == '+' && !isOutput)) {
                moveTo(at + 1);
            }
            add(isOutput ? Token.Kind.OUTPUT : Token.Kind.BLOCK, "");
            if (isOutput) {
                words("}}");
            } else {
                int first = tokens.size();
                words("%}");
                if (tokens.size() > first && tokens.get(first).is(Token.Kind.NAME, "raw")) {
                    raw(first - 1);
                }
            }
        }
        text(source.substring(at), ' ', true);
        moveTo(source.length());
        add(Token.Kind.END, "the end of the template");
    }

    private void text(String raw, char sign, boolean isOutput) {
        String text = raw;
        if (sign == '-') {
            text = text.stripTrailing();
        } else if (sign != '+' && !isOutput) {
            int lineStart = text.lastIndexOf('\n') + 1;
            if ((lineStart > 0 || isAtLineStart)
                    && BLANKS.matcher(text.substring(lineStart)).matches()) {
                text = text.substring(0, lineStart);
            }
        }
        if (!text.isEmpty()) {
            add(Token.Kind.TEXT, text);
        }
    }

    private void comment() {
        int end = source.indexOf("#}", at);
        if (end < 0) {
            throw new TemplateException(line, "the comment has no end");
        }
        char sign = end > at ? source.charAt(end - 1) : ' ';
        moveTo(end + 2);
        afterTag(sign, true);
    }

    private void raw(int blockAt) {
        tokens.subList(blockAt, tokens.size()).clear();
        Matcher end = END_OF_RAW.matcher(source);
        if (!end.find(at)) {
            throw new TemplateException(line, "the block raw has no endraw");
        }
        text(source.substring(at, end.start()), source.charAt(end.start() + 2), false);
        moveTo(end.end());
        afterTag(source.charAt(at - 3), true);
    }

    /** Cuts white space behind a tag. */
    private void afterTag(char sign, boolean isBlock) {
        int begin = at;
        if (sign == '-') {
            Matcher space = SPACE.matcher(source).region(at, source.length());
            if (space.lookingAt()) {
                moveTo(space.end());
            }
        } else if (isBlock && sign != '+' && at < source.length() && source.charAt(at) == '\n') {
            moveTo(at + 1);
        }
        isAtLineStart = at > begin && source.charAt(at - 1) == '\n';
    }

    /** The words of a tag, to its end. */
    private void words(String end) {
        int opened = line;
        int depth = 0;
        while (at < source.length()) {
            if (depth == 0 && closes(end)) {
                char sign = source.charAt(at);
                moveTo(at + (source.startsWith(end, at) ? 2 : 3));
                add(Token.Kind.CLOSE, "the end of the tag");
                afterTag(sign, end.equals("%}"));
                return;
            }
            Token word = word();
            if (word != null && word.kind() == Token.Kind.OPERATOR) {
                depth += switch (word.text()) {
                    case "(", "[", "{" -> 1;
                    case ")", "]", "}" -> -1;
                    default -> 0;
                };
            }
        }
        throw new TemplateException(opened, "the tag has no end " + end);
    }

    private boolean closes(String end) {
        return source.startsWith(end, at)
                || (source.startsWith(end, at + 1) && (source.charAt(at) == '-' || source.charAt(at) == '+'));
    }

    private @Nullable Token word() {
        if (take(SPACE) != null) {
            return null;
        }
        String number = take(NUMBER);
        if (number != null) {
            boolean isDecimal = number.contains(".") || number.contains("e") || number.contains("E");
            return add(isDecimal ? Token.Kind.DECIMAL : Token.Kind.INTEGER, number.replace("_", ""));
        }
        String name = take(NAME);
        if (name != null) {
            return add(Token.Kind.NAME, name);
        }
        String string = take(STRING);
        if (string != null) {
            return add(Token.Kind.STRING, unescaped(string.substring(1, string.length() - 1)));
        }
        String operator = take(OPERATOR);
        if (operator == null) {
            throw new TemplateException(line, "cannot read '" + source.charAt(at) + "'");
        }
        return add(Token.Kind.OPERATOR, operator);
    }

    private @Nullable String take(Pattern pattern) {
        Matcher matcher = pattern.matcher(source).region(at, source.length());
        if (!matcher.lookingAt()) {
            return null;
        }
        moveTo(matcher.end());
        return matcher.group();
    }

    private String unescaped(String text) {
        return ESCAPE.matcher(text).replaceAll(found -> Matcher.quoteReplacement(unescaped(found)));
    }

    private String unescaped(MatchResult escape) {
        String word = escape.group(1);
        return switch (word.charAt(0)) {
            case 'n' -> "\n";
            case 't' -> "\t";
            case 'r' -> "\r";
            case 'b' -> "\b";
            case 'f' -> "\f";
            case '\n' -> "";
            case '\\', '\'', '"' -> word;
            case 'x', 'u' -> {
                if (word.length() == 1) {
                    throw new TemplateException(line, "the escape \\" + word + " has no number");
                }
                yield String.valueOf((char) Integer.parseInt(word.substring(1), 16));
            }
            default -> "\\" + word;
        };
    }

    private Token add(Token.Kind kind, String text) {
        Token token = new Token(kind, text, line);
        tokens.add(token);
        return token;
    }

    private void moveTo(int position) {
        for (int i = at; i < position; i++) {
            if (source.charAt(i) == '\n') {
                line++;
            }
        }
        at = position;
    }
}
