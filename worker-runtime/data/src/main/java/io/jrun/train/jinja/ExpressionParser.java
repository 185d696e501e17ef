package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** Reads expressions, with the precedence of Jinja. */
final class ExpressionParser {
    private static final int MAX_DEPTH = 100;

    /** Each part may be nested in the part before. */
    private static final int MAX_PARTS = 1000;

    private static final Set<String> COMPARISONS = Set.of("==", "!=", "<", "<=", ">", ">=");
    /** Names that end a test without parentheses. */
    private static final Set<String> NO_ARGUMENT = Set.of("and", "or", "not", "else", "if", "is", "in");

    private final TokenStream tokens;
    private int depth;
    private int parts;

    ExpressionParser(TokenStream tokens) {
        this.tokens = tokens;
    }

    /** An expression, with {@code a if b else c}. */
    Expression expression() {
        parts = depth == 0 ? 0 : parts;
        depth++;
        if (depth > MAX_DEPTH) {
            throw new TemplateException(
                    tokens.peek().line(), "expressions are nested more than " + MAX_DEPTH + " deep");
        }
        Expression value = or();
        while (tokens.takeName("if")) {
            Expression then = value;
            Expression condition = or();
            Expression otherwise = tokens.takeName("else") ? expression() : _ -> new Undefined("the missing else");
            value = scope -> Values.isTrue(condition.value(scope)) ? then.value(scope) : otherwise.value(scope);
        }
        depth--;
        return value;
    }

    /** Counts an operator, an operand or a call. */
    private void countPart() {
        parts++;
        if (parts > MAX_PARTS) {
            throw new TemplateException(
                    tokens.peek().line(), "an expression has more than " + MAX_PARTS + " operators and operands");
        }
    }

    /** An expression, or a tuple of expressions with commas between. */
    Expression tuple() {
        int line = tokens.peek().line();
        Expression first = expression();
        if (!tokens.isOperator(",")) {
            return first;
        }
        List<Expression> elements = new ArrayList<>(List.of(first));
        while (tokens.takeOperator(",") && tokens.peek().kind() != Token.Kind.CLOSE) {
            elements.add(expression());
        }
        return list(elements, line);
    }

    /** An expression without {@code a if b else c}: the sequence of a loop, which an {@code if} may follow. */
    Expression or() {
        Expression left = and();
        while (tokens.takeName("or")) {
            Expression a = left;
            Expression b = and();
            left = scope -> {
                Object value = a.value(scope);
                return Values.isTrue(value) ? value : b.value(scope);
            };
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (tokens.takeName("and")) {
            Expression a = left;
            Expression b = not();
            left = scope -> {
                Object value = a.value(scope);
                return Values.isTrue(value) ? b.value(scope) : value;
            };
        }
        return left;
    }

    private Expression not() {
        if (tokens.isName("not") && !tokens.peekSecond().is(Token.Kind.NAME, "in")) {
            tokens.next();
            countPart();
            Expression value = not();
            return scope -> !Values.isTrue(value.value(scope));
        }
        return comparison();
    }

    private Expression comparison() {
        Expression left = sum();
        List<String> operators = new ArrayList<>();
        List<Expression> operands = new ArrayList<>(List.of(left));
        int line = tokens.peek().line();
        while (true) {
            Token token = tokens.peek();
            if (token.kind() == Token.Kind.OPERATOR && COMPARISONS.contains(token.text())) {
                operators.add(tokens.next().text());
            } else if (tokens.takeName("in")) {
                operators.add("in");
            } else if (tokens.isName("not") && tokens.peekSecond().is(Token.Kind.NAME, "in")) {
                tokens.next();
                tokens.next();
                operators.add("not in");
            } else {
                break;
            }
            operands.add(sum());
        }
        return operators.isEmpty() ? left : chain(operators, operands, line);
    }

    /** {@code a < b < c}: all of them must hold. */
    private static Expression chain(List<String> operators, List<Expression> operands, int line) {
        return scope -> {
            Object left = operands.getFirst().value(scope);
            for (int i = 0; i < operators.size(); i++) {
                Object right = operands.get(i + 1).value(scope);
                String operator = operators.get(i);
                Object a = left;
                if (!at(line, scope, () -> Operators.compare(operator, a, right))) {
                    return false;
                }
                left = right;
            }
            return true;
        };
    }

    private Expression sum() {
        return binary(this::joined, "+", "-");
    }

    private Expression joined() {
        return binary(this::product, "~");
    }

    private Expression product() {
        return binary(this::power, "*", "/", "//", "%");
    }

    private Expression power() {
        return binary(this::unary, "**");
    }

    private Expression binary(Supplier<Expression> operand, String... operators) {
        Expression left = operand.get();
        while (tokens.peek().kind() == Token.Kind.OPERATOR
                && List.of(operators).contains(tokens.peek().text())) {
            Token operator = tokens.next();
            Expression a = left;
            Expression b = operand.get();
            left = scope -> {
                Object x = a.value(scope);
                Object y = b.value(scope);
                return at(operator.line(), scope, () -> Operators.apply(operator.text(), x, y));
            };
        }
        return left;
    }

    private Expression unary() {
        return filtered(signed());
    }

    private Expression signed() {
        countPart();
        int line = tokens.peek().line();
        if (tokens.takeOperator("-")) {
            Expression value = signed();
            return scope -> {
                Object number = value.value(scope);
                return at(line, scope, () -> Operators.negative(number));
            };
        }
        return tokens.takeOperator("+") ? signed() : postfix(primary());
    }

    private Expression primary() {
        Token token = tokens.next();
        return switch (token.kind()) {
            case NAME -> name(token);
            case STRING -> {
                StringBuilder text = new StringBuilder(token.text());
                while (tokens.peek().kind() == Token.Kind.STRING) {
                    text.append(tokens.next().text());
                }
                Object value = text.toString();
                yield _ -> value;
            }
            case INTEGER -> integer(token);
            case DECIMAL -> {
                Object value = Double.parseDouble(token.text());
                yield _ -> value;
            }
            case OPERATOR ->
                switch (token.text()) {
                    case "(" -> parenthesized(token.line());
                    case "[" -> list(elements("]"), token.line());
                    case "{" -> mapping(token.line());
                    default -> throw misplaced(token);
                };
            default -> throw misplaced(token);
        };
    }

    private static TemplateException misplaced(Token token) {
        return new TemplateException(token.line(), "found '" + token.text() + "', expected an expression");
    }

    private static Expression integer(Token token) {
        try {
            Object value = Long.parseLong(token.text());
            return _ -> value;
        } catch (NumberFormatException _) {
            throw new TemplateException(token.line(), token.text() + " has more than 64 bits");
        }
    }

    private static Expression name(Token token) {
        return switch (token.text()) {
            case "true", "True" -> _ -> true;
            case "false", "False" -> _ -> false;
            case "none", "None" -> _ -> None.NONE;
            default ->
                scope -> {
                    scope.budget().step(token.line());
                    return scope.get(token.text());
                };
        };
    }

    private Expression parenthesized(int line) {
        if (tokens.takeOperator(")")) {
            return list(List.of(), line);
        }
        Expression first = expression();
        if (tokens.takeOperator(")")) {
            return first;
        }
        tokens.require(",");
        List<Expression> all = new ArrayList<>(List.of(first));
        all.addAll(elements(")"));
        return list(all, line);
    }

    /** Expressions with commas between, to a closing bracket. */
    private List<Expression> elements(String end) {
        List<Expression> elements = new ArrayList<>();
        while (!tokens.takeOperator(end)) {
            elements.add(expression());
            if (!tokens.isOperator(end)) {
                tokens.require(",");
            }
        }
        return elements;
    }

    private static Expression list(List<Expression> elements, int line) {
        return scope -> {
            scope.budget().step(line);
            List<Object> values = new ArrayList<>();
            elements.forEach(element -> values.add(element.value(scope)));
            return values;
        };
    }

    private Expression mapping(int line) {
        Map<Expression, Expression> entries = new LinkedHashMap<>();
        while (!tokens.takeOperator("}")) {
            Expression key = expression();
            tokens.require(":");
            entries.put(key, expression());
            if (!tokens.isOperator("}")) {
                tokens.require(",");
            }
        }
        return scope -> {
            scope.budget().step(line);
            Map<Object, Object> values = new LinkedHashMap<>();
            entries.forEach((key, value) -> values.put(key.value(scope), value.value(scope)));
            return values;
        };
    }

    private Expression postfix(Expression primary) {
        Expression target = primary;
        while (true) {
            countPart();
            int line = tokens.peek().line();
            if (tokens.takeOperator(".")) {
                Token name = tokens.next();
                target = attribute(target, name, line);
            } else if (tokens.takeOperator("[")) {
                target = subscript(target, line);
            } else if (tokens.takeOperator("(")) {
                target = call(target, line);
            } else {
                return target;
            }
        }
    }

    private static Expression attribute(Expression target, Token name, int line) {
        if (name.kind() == Token.Kind.INTEGER) {
            Object index = Long.parseLong(name.text());
            return scope -> {
                Object value = target.value(scope);
                return at(line, scope, () -> Values.item(value, index));
            };
        }
        if (name.kind() != Token.Kind.NAME) {
            throw new TemplateException(line, "found '" + name.text() + "', expected a name behind '.'");
        }
        return scope -> {
            Object value = target.value(scope);
            return at(line, scope, () -> Values.attribute(value, name.text()));
        };
    }

    private Expression subscript(Expression target, int line) {
        List<Expression> bounds = new ArrayList<>();
        boolean isSlice = false;
        Expression none = _ -> None.NONE;
        Expression last = none;
        while (!tokens.takeOperator("]")) {
            if (tokens.takeOperator(":")) {
                isSlice = true;
                bounds.add(last);
                last = none;
            } else {
                last = expression();
            }
        }
        bounds.add(last);
        if (!isSlice) {
            Expression key = last;
            return scope -> {
                Object value = target.value(scope);
                Object at = key.value(scope);
                return at(line, scope, () -> Values.item(value, at));
            };
        }
        while (bounds.size() < 3) {
            bounds.add(none);
        }
        return scope -> {
            Object value = target.value(scope);
            Object from = bounds.get(0).value(scope);
            Object to = bounds.get(1).value(scope);
            Object by = bounds.get(2).value(scope);
            return at(line, scope, () -> Values.slice(value, from, to, by));
        };
    }

    private Expression call(Expression target, int line) {
        CallArguments arguments = arguments();
        return scope -> {
            Object function = target.value(scope);
            Arguments values = arguments.values(scope);
            return at(line, scope, () -> {
                if (!(function instanceof Callable callable)) {
                    throw new IllegalArgumentException("cannot call " + Values.type(function));
                }
                return callable.call(values.placed(), values.named());
            });
        };
    }

    /** The arguments of a call or a filter, before their values are known. */
    private record CallArguments(List<Expression> placed, Map<String, Expression> named) {
        Arguments values(Scope scope) {
            List<Object> places = new ArrayList<>();
            placed.forEach(argument -> places.add(argument.value(scope)));
            Map<String, Object> names = new LinkedHashMap<>();
            named.forEach((name, argument) -> names.put(name, argument.value(scope)));
            return new Arguments(places, names);
        }
    }

    /** The arguments behind an opened parenthesis. */
    private CallArguments arguments() {
        List<Expression> placed = new ArrayList<>();
        Map<String, Expression> named = new LinkedHashMap<>();
        while (!tokens.takeOperator(")")) {
            if (tokens.peek().kind() == Token.Kind.NAME && tokens.peekSecond().is(Token.Kind.OPERATOR, "=")) {
                String name = tokens.next().text();
                tokens.next();
                named.put(name, expression());
            } else {
                placed.add(expression());
            }
            if (!tokens.isOperator(")")) {
                tokens.require(",");
            }
        }
        return new CallArguments(placed, named);
    }

    private Expression filtered(Expression start) {
        Expression value = start;
        while (true) {
            countPart();
            int line = tokens.peek().line();
            if (tokens.takeOperator("|")) {
                value = filter(value, line);
            } else if (tokens.takeName("is")) {
                value = test(value, line);
            } else if (tokens.takeOperator("(")) {
                value = call(value, line);
            } else {
                return value;
            }
        }
    }

    private Expression filter(Expression input, int line) {
        String name = tokens.require(Token.Kind.NAME, "the name of a filter").text();
        Filters.Filter filter = Filters.of(name);
        if (filter == null) {
            throw new TemplateException(line, "there is no filter '" + name + "'");
        }
        CallArguments arguments = tokens.takeOperator("(") ? arguments() : new CallArguments(List.of(), Map.of());
        return scope -> {
            Object value = input.value(scope);
            Arguments values = arguments.values(scope);
            return at(line, scope, () -> filter.apply(value, values));
        };
    }

    private Expression test(Expression input, int line) {
        boolean isNegated = tokens.takeName("not");
        String name = tokens.require(Token.Kind.NAME, "the name of a test").text();
        Tests.Test test = Tests.of(name);
        if (test == null) {
            throw new TemplateException(line, "there is no test '" + name + "'");
        }
        CallArguments arguments = testArguments();
        return scope -> {
            Object value = input.value(scope);
            Arguments values = arguments.values(scope);
            return at(line, scope, () -> test.holds(value, values.placed()) != isNegated);
        };
    }

    /** The arguments of a test: in parentheses, or one word without them. */
    private CallArguments testArguments() {
        if (tokens.takeOperator("(")) {
            return arguments();
        }
        Token token = tokens.peek();
        boolean isArgument = switch (token.kind()) {
            case NAME -> !NO_ARGUMENT.contains(token.text());
            case STRING, INTEGER, DECIMAL -> true;
            case OPERATOR -> token.text().equals("[") || token.text().equals("{");
            default -> false;
        };
        return new CallArguments(isArgument ? List.of(postfix(primary())) : List.of(), Map.of());
    }

    /** Computes, and adds the line to errors. */
    private static <T> T at(int line, Scope scope, Supplier<T> computation) {
        scope.budget().step(line);
        try {
            return computation.get();
        } catch (IllegalArgumentException
                | ArithmeticException
                | ClassCastException
                | java.util.NoSuchElementException e) {
            throw new TemplateException(line, String.valueOf(e.getMessage()));
        }
    }
}
