package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.List;

/** The arithmetic of templates. Errors are IllegalArgumentExceptions in one line. */
final class Operators {
    private Operators() {}

    static Object apply(String operator, Object a, Object b) {
        return switch (operator) {
            case "+" -> plus(a, b);
            case "~" -> joined(Values.text(a), Values.text(b));
            case "*" -> times(a, b);
            default -> arithmetic(operator, a, b);
        };
    }

    private static Object plus(Object a, Object b) {
        if (a instanceof String left && b instanceof String right) {
            return joined(left, right);
        }
        if (a instanceof List<?> left && b instanceof List<?> right) {
            List<Object> all = new ArrayList<>(left);
            all.addAll(right);
            return all;
        }
        return arithmetic("+", a, b);
    }

    private static String joined(String a, String b) {
        Budget.requireLength((long) a.length() + b.length());
        return a + b;
    }

    private static Object times(Object a, Object b) {
        if (a instanceof String text && b instanceof Long count) {
            long times = Math.max(0, count);
            Budget.requireLength(text.isEmpty() ? 0 : Math.multiplyExact(times, (long) text.length()));
            return text.isEmpty() ? "" : text.repeat((int) times);
        }
        return b instanceof String && a instanceof Long ? times(b, a) : arithmetic("*", a, b);
    }

    private static Object arithmetic(String operator, Object a, Object b) {
        Object left = a instanceof Boolean ? (Object) Values.whole(a) : a;
        Object right = b instanceof Boolean ? (Object) Values.whole(b) : b;
        if (!(left instanceof Number one) || !(right instanceof Number other)) {
            throw new IllegalArgumentException(
                    "cannot compute " + Values.type(a) + " " + operator + " " + Values.type(b));
        }
        boolean isDivision = operator.equals("/") || operator.equals("//") || operator.equals("%");
        if (isDivision && other.doubleValue() == 0) {
            throw new IllegalArgumentException("a division by 0");
        }
        try {
            return left instanceof Long x && right instanceof Long y && !operator.equals("/")
                    ? whole(operator, x, y)
                    : decimal(operator, one.doubleValue(), other.doubleValue());
        } catch (ArithmeticException _) {
            throw new IllegalArgumentException("the result of " + operator + " has more than 64 bits");
        }
    }

    private static Object whole(String operator, long x, long y) {
        return switch (operator) {
            case "+" -> Math.addExact(x, y);
            case "-" -> Math.subtractExact(x, y);
            case "*" -> Math.multiplyExact(x, y);
            case "//" -> Math.floorDiv(x, y);
            case "%" -> Math.floorMod(x, y);
            default -> y < 0 ? (Object) Math.pow((double) x, (double) y) : (Object) power(x, y);
        };
    }

    private static long power(long x, long y) {
        long result = 1;
        for (long i = 0; i < y && result != 0 && (i < Long.SIZE || Math.abs(x) > 1); i++) {
            result = Math.multiplyExact(result, x);
        }
        return x == -1 && y % 2 == 0 ? 1 : result;
    }

    private static Object decimal(String operator, double x, double y) {
        return switch (operator) {
            case "+" -> x + y;
            case "-" -> x - y;
            case "*" -> x * y;
            case "/" -> x / y;
            case "//" -> Math.floor(x / y);
            case "%" -> x - Math.floor(x / y) * y;
            default -> Math.pow(x, y);
        };
    }

    /** A comparison. */
    static boolean compare(String operator, Object a, Object b) {
        return switch (operator) {
            case "==" -> Values.areEqual(a, b);
            case "!=" -> !Values.areEqual(a, b);
            case "<" -> Values.compare(a, b) < 0;
            case "<=" -> Values.compare(a, b) <= 0;
            case ">" -> Values.compare(a, b) > 0;
            case ">=" -> Values.compare(a, b) >= 0;
            case "in" -> Values.contains(b, a);
            default -> !Values.contains(b, a);
        };
    }

    static Object negative(Object value) {
        return switch (value) {
            case Long number -> Math.negateExact(number);
            case Double number -> -number;
            default -> throw new IllegalArgumentException("cannot negate " + Values.type(value));
        };
    }
}
