package io.jrun.train.pickle;

import io.jrun.train.pickle.AllowedGlobal.Function;
import io.jrun.train.pickle.AllowedGlobal.StorageClass;
import io.jrun.train.pickle.PickleValue.Dictionary;
import io.jrun.train.pickle.PickleValue.Foreign;
import io.jrun.train.pickle.PickleValue.Global;
import io.jrun.train.pickle.PickleValue.Mark;
import io.jrun.train.pickle.PickleValue.Scalar;
import io.jrun.train.pickle.PickleValue.Sequence;
import io.jrun.train.pickle.PickleValue.Storage;
import io.jrun.train.pickle.PickleValue.Tuple;
import io.jrun.train.pickle.PickleValue.Unknown;
import java.math.BigInteger;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a pickle of protocol 2 to 5 as data. An object or a call of a name outside {@link AllowedGlobal} becomes a
 * {@link Foreign} value; the reader executes nothing. An operation that data does not need is an error. The reader needs memory in proportion to the bytes of the pickle. Source: CPython's
 * {@code pickletools.py}.
 */
final class Unpickler {
    private static final String NO_STORAGE = "a persistent id that is not a storage";

    private final ByteBuffer bytes;
    private final List<PickleValue> stack = new ArrayList<>();
    private final Map<Integer, PickleValue> memo = new HashMap<>();

    private Unpickler(byte[] pickle) {
        this.bytes = ByteBuffer.wrap(pickle).order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * @throws IllegalArgumentException if the pickle breaks a rule; the message names the rule and the byte
     */
    static PickleValue read(byte[] pickle) {
        Unpickler unpickler = new Unpickler(pickle);
        try {
            return unpickler.run();
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("the pickle ends early, at byte " + pickle.length, e);
        }
    }

    private PickleValue run() {
        while (true) {
            int at = bytes.position();
            int operation = next();
            if (operation == '.') {
                return pop(PickleValue.class);
            }
            if (!container(operation)) {
                PickleValue value = simple(operation);
                if (value == null) {
                    throw new IllegalArgumentException(String.format(
                            "the pickle has the operation 0x%02x at byte %d, which data does not need", operation, at));
                }
                stack.add(value);
            }
        }
    }

    /** The value that an operation pushes; null if the operation is not allowed. */
    private @Nullable PickleValue simple(int operation) {
        return switch (operation) {
            case '(' -> Mark.MARK;
            case 'N' -> Scalar.NONE;
            case 0x88 -> Scalar.TRUE;
            case 0x89 -> Scalar.FALSE;
            case 'J' -> new Scalar((long) bytes.getInt());
            case 'K' -> new Scalar((long) next());
            case 'M' -> new Scalar((long) Short.toUnsignedInt(bytes.getShort()));
            case 0x8a -> new Scalar(integer(next()));
            case 0x8b -> new Scalar(integer(bytes.getInt()));
            case 'G' ->
                new Scalar(ByteBuffer.allocate(8)
                        .putLong(Long.reverseBytes(bytes.getLong()))
                        .getDouble(0));
            case 'X' -> new Scalar(text(bytes.getInt()));
            case 0x8c -> new Scalar(text(next()));
            case 0x8d -> new Scalar(text(count(bytes.getLong())));
            case 'C' -> plainBytes(next());
            case 'B' -> plainBytes(bytes.getInt());
            case 0x8e, 0x96 -> plainBytes(count(bytes.getLong()));
            case 'c' -> AllowedGlobal.find(line(), line());
            case 0x93 -> {
                String name = string();
                yield AllowedGlobal.find(string(), name);
            }
            case 'h' -> recall(next());
            case 'j' -> recall(bytes.getInt());
            case ')' -> new Tuple(List.of());
            case 0x85 -> new Tuple(popLast(1));
            case 0x86 -> new Tuple(popLast(2));
            case 0x87 -> new Tuple(popLast(3));
            case 't' -> new Tuple(popToMark());
            case ']', 0x8f -> new Sequence();
            case 0x91 -> new Tuple(popToMark());
            case '}' -> new Dictionary();
            case 'Q' -> storage(pop(Tuple.class).items());
            case 'R' -> reduce();
            case 0x81 -> instance(pop(Tuple.class));
            case 0x92 -> {
                Dictionary _ = pop(Dictionary.class);
                yield instance(pop(Tuple.class));
            }
            default -> null;
        };
    }

    /** Runs an operation that pushes no value; false for any other operation. */
    private boolean container(int operation) {
        switch (operation) {
            case 0x80 -> {
                int protocol = next();
                require(protocol >= 2 && protocol <= 5, "protocol " + protocol + ", expected 2 to 5");
            }
            case 0x95 -> require(bytes.getLong() >= 0, "a frame of negative length");
            case 'q' -> memo.put(next(), peek());
            case 'r' -> memo.put(bytes.getInt(), peek());
            case 0x94 -> memo.put(memo.size(), peek());
            case 'a' -> append(popLast(1));
            case 'e', 0x90 -> append(popToMark());
            case 's' -> put(popLast(2));
            case 'u' -> put(popToMark());
            // The attributes of an OrderedDict, in which torch stores the versions of modules, or of an object.
            case 'b' -> {
                PickleValue _ = pop(PickleValue.class);
                if (!isForeign()) {
                    Dictionary _ = peek(Dictionary.class);
                }
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean isForeign() {
        return peek() instanceof Foreign;
    }

    /** Adds items to a list or a set. An object stays without its items. */
    private void append(List<PickleValue> items) {
        if (!isForeign()) {
            peek(Sequence.class).items.addAll(items);
        }
    }

    /** Adds members to a dictionary. A key that is neither a text nor a number gets a number. */
    private void put(List<PickleValue> keysAndValues) {
        require(keysAndValues.size() % 2 == 0, "a dict with a key without a value");
        if (isForeign()) {
            return;
        }
        Dictionary target = peek(Dictionary.class);
        for (int i = 0; i < keysAndValues.size(); i += 2) {
            Object key = keysAndValues.get(i) instanceof Scalar(Object value) ? value : "#" + target.items.size();
            target.items.put(key, keysAndValues.get(i + 1));
        }
    }

    private PickleValue reduce() {
        Tuple arguments = pop(Tuple.class);
        return switch (pop(PickleValue.class)) {
            case Global(Function function) -> AllowedGlobal.call(function, arguments.items());
            case Global _ -> throw new IllegalArgumentException("the pickle calls an element type");
            case Unknown(String name) -> AllowedGlobal.callUnknown(name);
            case Foreign(String name, Foreign.Kind _) -> new Foreign(name, Foreign.Kind.REFUSED);
            default -> throw new IllegalArgumentException("the pickle calls a value that is no function");
        };
    }

    /** An object of a class, without a call of a function of the file. */
    private PickleValue instance(Tuple arguments) {
        return switch (pop(PickleValue.class)) {
            case Global(Function function) -> AllowedGlobal.call(function, arguments.items());
            case Unknown(String name) -> new Foreign(name, Foreign.Kind.OBJECT);
            default -> throw new IllegalArgumentException("the pickle has an object without a class");
        };
    }

    /** The value of one of torch's persistent ids: ('storage', class, key, device, elements). */
    private static PickleValue storage(List<PickleValue> id) {
        require(
                id.size() == 5
                        && id.get(0) instanceof Scalar(Object kind)
                        && kind.equals("storage")
                        && id.get(2) instanceof Scalar,
                NO_STORAGE);
        return switch (id.get(1)) {
            case Global(StorageClass type) -> new Storage(String.valueOf(((Scalar) id.get(2)).value()), type.type());
            case Unknown(String name) -> new Foreign(name, Foreign.Kind.OBJECT);
            default -> throw new IllegalArgumentException("the pickle has " + NO_STORAGE);
        };
    }

    private PickleValue recall(int index) {
        PickleValue value = memo.get(index);
        if (value == null) {
            throw new IllegalArgumentException(
                    "the pickle recalls the value " + index + ", which the pickle has not memorised");
        }
        return value;
    }

    private List<PickleValue> popToMark() {
        int begin = stack.lastIndexOf(Mark.MARK) + 1;
        require(begin > 0, "no mark on the stack");
        List<PickleValue> tail = stack.subList(begin, stack.size());
        List<PickleValue> items = List.copyOf(tail);
        tail.clear();
        stack.removeLast();
        return items;
    }

    private List<PickleValue> popLast(int count) {
        require(stack.size() >= count, "too few values on the stack");
        List<PickleValue> tail = stack.subList(stack.size() - count, stack.size());
        List<PickleValue> items = List.copyOf(tail);
        require(!items.contains(Mark.MARK), "a mark as a value");
        tail.clear();
        return items;
    }

    private <T extends PickleValue> T pop(Class<T> type) {
        T value = peek(type);
        stack.removeLast();
        return value;
    }

    private PickleValue peek() {
        return peek(PickleValue.class);
    }

    private <T extends PickleValue> T peek(Class<T> type) {
        require(!stack.isEmpty() && stack.getLast() != Mark.MARK, "too few values on the stack");
        require(type.isInstance(stack.getLast()), "a value in place of a " + type.getSimpleName());
        return type.cast(stack.getLast());
    }

    private String string() {
        Object value = pop(Scalar.class).value();
        require(value instanceof String, "a name that is not a string");
        return (String) value;
    }

    private Object integer(int count) {
        byte[] littleEndian = take(count);
        byte[] bigEndian = new byte[count + 1];
        bigEndian[0] = (byte) (count > 0 && littleEndian[count - 1] < 0 ? -1 : 0);
        for (int i = 0; i < count; i++) {
            bigEndian[count - i] = littleEndian[i];
        }
        BigInteger value = new BigInteger(bigEndian);
        return value.bitLength() < Long.SIZE ? (Object) value.longValue() : value;
    }

    private String text(int count) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(take(count)))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the pickle has a string that is not UTF-8", e);
        }
    }

    private String line() {
        StringBuilder line = new StringBuilder();
        for (int c = next(); c != '\n'; c = next()) {
            line.append((char) c);
        }
        return line.toString();
    }

    /** Bytes are not needed for weights. */
    private PickleValue plainBytes(int count) {
        byte[] _ = take(count);
        return new Foreign("builtins.bytes", Foreign.Kind.VALUE);
    }

    private static int count(long count) {
        require(count >= 0 && count <= Integer.MAX_VALUE, "a string of " + Long.toUnsignedString(count) + " bytes");
        return (int) count;
    }

    private byte[] take(int count) {
        require(count >= 0 && count <= bytes.remaining(), "a string of " + Integer.toUnsignedString(count) + " bytes");
        byte[] taken = new byte[count];
        bytes.get(taken);
        return taken;
    }

    private int next() {
        return Byte.toUnsignedInt(bytes.get());
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException("the pickle has " + otherwise);
        }
    }
}
