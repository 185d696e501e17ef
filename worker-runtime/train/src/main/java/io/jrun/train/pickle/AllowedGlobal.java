package io.jrun.train.pickle;

import io.jrun.train.checkpoint.ElementType;
import io.jrun.train.pickle.PickleValue.Dictionary;
import io.jrun.train.pickle.PickleValue.Global;
import io.jrun.train.pickle.PickleValue.PickledTensor;
import io.jrun.train.pickle.PickleValue.Scalar;
import io.jrun.train.pickle.PickleValue.Storage;
import io.jrun.train.pickle.PickleValue.Tuple;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The names that a file of {@code torch.save} may refer to: tensors, element types and dictionaries. jrun treats each
 * name as data and never looks up a name as code. Source: torch's {@code _utils.py} and
 * {@code _weights_only_unpickler.py}.
 */
sealed interface AllowedGlobal {
    /** A function that makes a value from a tuple of arguments. */
    enum Function implements AllowedGlobal {
        ORDERED_DICT,
        SIZE,
        TENSOR_V2,
        TENSOR_V3,
        PARAMETER
    }

    /** {@code torch.float32}. */
    record TypeName(ElementType type) implements AllowedGlobal {}

    /** {@code torch.FloatStorage}; without a type {@code torch.storage.UntypedStorage}. */
    record StorageClass(Optional<ElementType> type) implements AllowedGlobal {}

    /** All names in the form {@code module name}. */
    Map<String, AllowedGlobal> NAMES = Map.ofEntries(
            Map.entry("collections OrderedDict", Function.ORDERED_DICT),
            Map.entry("torch Size", Function.SIZE),
            Map.entry("torch._utils _rebuild_tensor_v2", Function.TENSOR_V2),
            Map.entry("torch._utils _rebuild_tensor_v3", Function.TENSOR_V3),
            Map.entry("torch._utils _rebuild_parameter", Function.PARAMETER),
            Map.entry("torch.storage UntypedStorage", new StorageClass(Optional.empty())),
            storage("Float", ElementType.F32),
            storage("Double", ElementType.F64),
            storage("Half", ElementType.F16),
            storage("BFloat16", ElementType.BF16),
            storage("Long", ElementType.I64),
            storage("Int", ElementType.I32),
            storage("Short", ElementType.I16),
            storage("Char", ElementType.I8),
            storage("Byte", ElementType.U8),
            storage("Bool", ElementType.BOOL),
            storage("ComplexFloat", ElementType.C64),
            type("float32", ElementType.F32),
            type("float64", ElementType.F64),
            type("float16", ElementType.F16),
            type("bfloat16", ElementType.BF16),
            type("int64", ElementType.I64),
            type("int32", ElementType.I32),
            type("int16", ElementType.I16),
            type("int8", ElementType.I8),
            type("uint8", ElementType.U8),
            type("uint16", ElementType.U16),
            type("uint32", ElementType.U32),
            type("uint64", ElementType.U64),
            type("bool", ElementType.BOOL),
            type("complex64", ElementType.C64),
            type("float8_e5m2", ElementType.F8_E5M2),
            type("float8_e4m3fn", ElementType.F8_E4M3),
            type("float8_e8m0fnu", ElementType.F8_E8M0),
            type("float8_e4m3fnuz", ElementType.F8_E4M3FNUZ),
            type("float8_e5m2fnuz", ElementType.F8_E5M2FNUZ));

    private static Map.Entry<String, AllowedGlobal> storage(String name, ElementType type) {
        return Map.entry("torch " + name + "Storage", new StorageClass(Optional.of(type)));
    }

    private static Map.Entry<String, AllowedGlobal> type(String name, ElementType type) {
        return Map.entry("torch " + name, new TypeName(type));
    }

    /**
     * The value of a name in a file.
     *
     * @throws IllegalArgumentException if the name is not allowed; the message has the name
     */
    static Global find(String module, String name) {
        AllowedGlobal global = NAMES.get(module + " " + name);
        if (global == null) {
            throw new IllegalArgumentException(
                    "the file refers to '" + module + "." + name + "'. jrun reads tensors, numbers,"
                            + " strings, dicts, tuples and lists only, and executes nothing."
                            + " Save model.state_dict() instead of"
                            + " the object");
        }
        return new Global(global);
    }

    /** The value that a function makes from its arguments. */
    static PickleValue call(Function function, List<PickleValue> arguments) {
        return switch (function) {
            case ORDERED_DICT -> {
                require(arguments.isEmpty(), "an OrderedDict with arguments");
                yield new Dictionary();
            }
            case SIZE -> {
                require(arguments.size() == 1 && arguments.getFirst() instanceof Tuple, "a torch.Size without a tuple");
                yield arguments.getFirst();
            }
            case PARAMETER -> {
                require(
                        !arguments.isEmpty() && arguments.getFirst() instanceof PickledTensor,
                        "a parameter without a tensor");
                yield arguments.getFirst();
            }
            case TENSOR_V2 -> tensor(arguments, Optional.empty());
            case TENSOR_V3 -> {
                require(
                        arguments.size() >= 7
                                && arguments.get(6) instanceof Global(AllowedGlobal type)
                                && type instanceof TypeName,
                        "a tensor without an element type");
                Global global = (Global) arguments.get(6);
                yield tensor(arguments, Optional.of(((TypeName) global.global()).type()));
            }
        };
    }

    private static PickledTensor tensor(List<PickleValue> arguments, Optional<ElementType> given) {
        require(arguments.size() >= 4 && arguments.getFirst() instanceof Storage, "a tensor without a storage");
        Storage storage = (Storage) arguments.getFirst();
        ElementType type = given.or(storage::type)
                .orElseThrow(() -> new IllegalArgumentException("the pickle has a tensor without an element type"));
        return new PickledTensor(
                storage, type, whole(arguments.get(1)), wholes(arguments.get(2)), wholes(arguments.get(3)));
    }

    private static List<Long> wholes(PickleValue value) {
        require(value instanceof Tuple, "a shape that is not a tuple");
        List<Long> wholes = new ArrayList<>();
        ((Tuple) value).items().forEach(item -> wholes.add(whole(item)));
        return wholes;
    }

    private static long whole(PickleValue value) {
        require(value instanceof Scalar(Object number) && number instanceof Long, "a size that is not a whole number");
        return (Long) ((Scalar) value).value();
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException("the pickle has " + otherwise);
        }
    }
}
