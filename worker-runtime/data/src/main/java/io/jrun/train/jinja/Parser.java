package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads the blocks of a template. */
final class Parser {
    private static final int MAX_DEPTH = 100;

    private final TokenStream tokens;
    private final ExpressionParser expressions;
    private int depth;

    private Parser(TokenStream tokens) {
        this.tokens = tokens;
        this.expressions = new ExpressionParser(tokens);
    }

    /** The statements of a template. */
    static Statement parse(String template) {
        Parser parser = new Parser(new TokenStream(Lexer.tokens(template)));
        Statement all = parser.statements(Set.of());
        if (parser.tokens.peek().kind() != Token.Kind.END) {
            throw parser.tokens.unexpected("the end of the template");
        }
        return all;
    }

    /** The statements before a block of one of some words. */
    private Statement statements(Set<String> ends) {
        depth++;
        if (depth > MAX_DEPTH) {
            throw new TemplateException(tokens.peek().line(), "blocks are nested more than " + MAX_DEPTH + " deep");
        }
        List<Statement> all = new ArrayList<>();
        while (tokens.peek().kind() != Token.Kind.END && !tokens.isBlock(ends)) {
            all.add(statement());
        }
        depth--;
        return (scope, out) -> {
            for (Statement statement : all) {
                Statement.Flow flow = statement.run(scope, out);
                if (flow != Statement.Flow.NEXT) {
                    return flow;
                }
            }
            return Statement.Flow.NEXT;
        };
    }

    private Statement statement() {
        Token token = tokens.next();
        return switch (token.kind()) {
            case TEXT -> (_, out) -> write(token.text(), token.line(), out);
            case OUTPUT -> {
                Expression value = expressions.tuple();
                close();
                yield (scope, out) -> {
                    scope.budget().step(token.line());
                    return write(Values.text(value.value(scope)), token.line(), out);
                };
            }
            default -> block();
        };
    }

    private static Statement.Flow write(String text, int line, StringBuilder out) {
        try {
            Budget.requireLength((long) out.length() + text.length());
        } catch (IllegalArgumentException e) {
            throw new TemplateException(line, String.valueOf(e.getMessage()));
        }
        out.append(text);
        return Statement.Flow.NEXT;
    }

    private void close() {
        tokens.require(Token.Kind.CLOSE, "the end of the tag");
    }

    private Statement block() {
        Token word = tokens.require(Token.Kind.NAME, "the name of a block");
        return switch (word.text()) {
            case "if" -> ifBlock();
            case "for" -> forBlock(word.line());
            case "set" -> set(word.line());
            case "macro" -> macro(word.line());
            case "break" -> flow(Statement.Flow.BREAK);
            case "continue" -> flow(Statement.Flow.CONTINUE);
            case "generation" -> {
                close();
                Statement body = statements(Set.of("endgeneration"));
                end();
                yield body;
            }
            default ->
                throw new TemplateException(
                        word.line(),
                        "the block '" + word.text()
                                + "' is not supported; supported are if, for, set, macro, break, continue, generation"
                                + " and raw");
        };
    }

    private Statement flow(Statement.Flow flow) {
        close();
        return (_, _) -> flow;
    }

    /** Takes the block that ends the present one. */
    private void end() {
        if (tokens.peek().kind() == Token.Kind.END) {
            throw tokens.unexpected("the end of the block");
        }
        tokens.next();
        tokens.next();
        close();
    }

    private Statement ifBlock() {
        Expression condition = expressions.expression();
        close();
        Statement then = statements(Set.of("elif", "else", "endif"));
        if (tokens.peek().kind() == Token.Kind.END) {
            throw tokens.unexpected("endif");
        }
        tokens.next();
        Token word = tokens.next();
        Statement otherwise = (_, _) -> Statement.Flow.NEXT;
        if (word.text().equals("elif")) {
            otherwise = ifBlock();
        } else {
            close();
            if (word.text().equals("else")) {
                otherwise = statements(Set.of("endif"));
                end();
            }
        }
        Statement last = otherwise;
        return (scope, out) -> Values.isTrue(condition.value(scope)) ? then.run(scope, out) : last.run(scope, out);
    }

    private Statement forBlock(int line) {
        List<String> names = names();
        if (!tokens.takeName("in")) {
            throw tokens.unexpected("'in'");
        }
        Expression sequence = expressions.or();
        Expression filter = tokens.takeName("if") ? expressions.expression() : _ -> true;
        close();
        Statement body = statements(Set.of("else", "endfor"));
        Statement otherwise = (_, _) -> Statement.Flow.NEXT;
        if (tokens.isBlock(Set.of("else"))) {
            end();
            otherwise = statements(Set.of("endfor"));
        }
        end();
        return new Loop(line, names, sequence, filter, body, otherwise);
    }

    private List<String> names() {
        List<String> names = new ArrayList<>();
        boolean isParenthesized = tokens.takeOperator("(");
        do {
            names.add(tokens.require(Token.Kind.NAME, "a name").text());
        } while (tokens.takeOperator(","));
        if (isParenthesized) {
            tokens.require(")");
        }
        return names;
    }

    private Statement set(int line) {
        List<String> names = names();
        String attribute = tokens.takeOperator(".")
                ? tokens.require(Token.Kind.NAME, "a name").text()
                : "";
        if (!tokens.takeOperator("=")) {
            close();
            Statement body = statements(Set.of("endset"));
            end();
            return (scope, _) -> {
                StringBuilder text = new StringBuilder();
                Statement.Flow flow = body.run(scope, text);
                scope.set(names.getFirst(), text.toString());
                return flow;
            };
        }
        Expression value = expressions.tuple();
        close();
        return (scope, _) -> {
            scope.budget().step(line);
            Object found = value.value(scope);
            if (attribute.isEmpty()) {
                assign(names, found, scope, line);
            } else if (scope.get(names.getFirst()) instanceof Namespace namespace) {
                namespace.set(attribute, found);
            } else {
                throw new TemplateException(
                        line, "cannot set '." + attribute + "' of '" + names.getFirst() + "', which is no namespace");
            }
            return Statement.Flow.NEXT;
        };
    }

    /** Gives names a value; several names the elements of a list. */
    static void assign(List<String> names, Object value, Scope scope, int line) {
        if (names.size() == 1) {
            scope.set(names.getFirst(), value);
            return;
        }
        List<?> elements = value instanceof List<?> list ? list : List.of();
        if (elements.size() != names.size()) {
            throw new TemplateException(line, "cannot take " + names.size() + " values of " + Values.type(value));
        }
        for (int i = 0; i < names.size(); i++) {
            scope.set(names.get(i), elements.get(i));
        }
    }

    private Statement macro(int line) {
        String name = tokens.require(Token.Kind.NAME, "the name of the macro").text();
        Map<String, Expression> parameters = new LinkedHashMap<>();
        tokens.require("(");
        while (!tokens.takeOperator(")")) {
            String parameter = tokens.require(Token.Kind.NAME, "a name").text();
            parameters.put(
                    parameter, tokens.takeOperator("=") ? expressions.expression() : _ -> new Undefined(parameter));
            if (!tokens.isOperator(")")) {
                tokens.require(",");
            }
        }
        close();
        Statement body = statements(Set.of("endmacro"));
        end();
        return (scope, _) -> {
            Callable call = (placed, named) -> {
                Scope inner = scope.inner();
                int place = 0;
                for (Map.Entry<String, Expression> parameter : parameters.entrySet()) {
                    Object value = named.get(parameter.getKey());
                    if (value == null) {
                        value = place < placed.size()
                                ? placed.get(place)
                                : parameter.getValue().value(inner);
                    }
                    inner.set(parameter.getKey(), value);
                    place++;
                }
                StringBuilder text = new StringBuilder();
                scope.budget().enter(line);
                Statement.Flow _ = body.run(inner, text);
                scope.budget().leave();
                return text.toString();
            };
            scope.set(name, call);
            return Statement.Flow.NEXT;
        };
    }
}
