package io.jrun.train.pickle;

import io.jrun.train.checkpoint.ElementType;
import io.jrun.train.pickle.PickleValue.Dictionary;
import io.jrun.train.pickle.PickleValue.Foreign;
import io.jrun.train.pickle.PickleValue.Foreign.Kind;
import io.jrun.train.pickle.PickleValue.Global;
import io.jrun.train.pickle.PickleValue.PickledTensor;
import io.jrun.train.pickle.PickleValue.Scalar;
import io.jrun.train.pickle.PickleValue.Sequence;
import io.jrun.train.pickle.PickleValue.Storage;
import io.jrun.train.pickle.PickleValue.Tuple;
import io.jrun.train.pickle.PickleValue.Unknown;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;

/**
 * The names in a file of {@code torch.save} that jrun knows: tensors, element types and containers. jrun treats each name
 * as data and never looks up a name as code. Source: torch's {@code _utils.py} and
 * {@code _weights_only_unpickler.py}.
 */
sealed interface AllowedGlobal {
    /** A function that makes a value from a tuple of arguments. */
    enum Function implements AllowedGlobal {
        ORDERED_DICT,
        DEFAULT_DICT,
        COUNTER,
        SET,
        SIZE,
        DEVICE,
        TENSOR_V1,
        TENSOR_V2,
        TENSOR_V3,
        /** A parameter, or a copy of a tensor for a device: the first argument is the tensor. */
        WRAPPED_TENSOR,
        /** A tensor with attributes: a function, a class, and the arguments of the function. */
        TENSOR_OF_CLASS
    }

    /** {@code torch.float32}. */
    record TypeName(ElementType type) implements AllowedGlobal {}

    /** {@code torch.FloatStorage}; without a type {@code torch.storage.UntypedStorage}. */
    record StorageClass(Optional<ElementType> type) implements AllowedGlobal {}

    /** All names in the form {@code module name}. */
    Map<String, AllowedGlobal> NAMES = Map.ofEntries(
            Map.entry("collections OrderedDict", Function.ORDERED_DICT),
            Map.entry("collections defaultdict", Function.DEFAULT_DICT),
            Map.entry("collections Counter", Function.COUNTER),
            Map.entry("builtins set", Function.SET),
            Map.entry("__builtin__ set", Function.SET),
            Map.entry("builtins frozenset", Function.SET),
            Map.entry("__builtin__ frozenset", Function.SET),
            Map.entry("torch Size", Function.SIZE),
            Map.entry("torch device", Function.DEVICE),
            Map.entry("torch._utils _rebuild_tensor", Function.TENSOR_V1),
            Map.entry("torch._utils _rebuild_tensor_v2", Function.TENSOR_V2),
            Map.entry("torch._utils _rebuild_tensor_v3", Function.TENSOR_V3),
            Map.entry("torch._utils _rebuild_parameter", Function.WRAPPED_TENSOR),
            Map.entry("torch._utils _rebuild_parameter_with_state", Function.WRAPPED_TENSOR),
            Map.entry("torch._utils _rebuild_device_tensor_from_cpu_tensor", Function.WRAPPED_TENSOR),
            Map.entry("torch._tensor _rebuild_from_type_v2", Function.TENSOR_OF_CLASS),
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

    /** Functions that make plain values. jrun calls none of them. */
    Set<String> MAKERS_OF_VALUES = Set.of(
            "_codecs.encode",
            "__builtin__.bytearray",
            "__builtin__.complex",
            "__builtin__.range",
            "__builtin__.slice",
            "__builtin__.xrange",
            "builtins.bytearray",
            "builtins.complex",
            "builtins.range",
            "builtins.slice",
            "copy_reg._reconstructor",
            "copyreg._reconstructor",
            "datetime.date",
            "datetime.datetime",
            "datetime.time",
            "datetime.timedelta",
            "datetime.timezone",
            "decimal.Decimal",
            "fractions.Fraction",
            "numpy.core.multiarray._reconstruct",
            "numpy._core.multiarray._reconstruct",
            "numpy.core.multiarray.scalar",
            "numpy._core.multiarray.scalar",
            "numpy.core.numeric._frombuffer",
            "numpy._core.numeric._frombuffer",
            "numpy.dtype",
            "numpy.ndarray",
            "numpy.random._pickle.__bit_generator_ctor",
            "numpy.random._pickle.__generator_ctor",
            "numpy.random._pickle.__randomstate_ctor",
            "pathlib.Path",
            "pathlib.PosixPath",
            "pathlib.PurePath",
            "pathlib.PurePosixPath",
            "pathlib.PureWindowsPath",
            "pathlib.WindowsPath",
            "pathlib._local.Path",
            "pathlib._local.PosixPath",
            "pathlib._local.PurePosixPath",
            "torch.serialization._get_layout",
            "types.SimpleNamespace",
            "uuid.UUID");

    /** Functions that make tensors of a form that jrun lacks. */
    Set<String> MAKERS_OF_TENSORS = Set.of(
            "torch._utils._rebuild_device_tensor_from_numpy",
            "torch._utils._rebuild_meta_tensor_no_storage",
            "torch._utils._rebuild_nested_tensor",
            "torch._utils._rebuild_qtensor",
            "torch._utils._rebuild_sparse_csr_tensor",
            "torch._utils._rebuild_sparse_tensor",
            "torch._utils._rebuild_wrapper_subclass",
            "torch._utils._rebuild_xla_tensor");

    private static Map.Entry<String, AllowedGlobal> storage(String name, ElementType type) {
        return Map.entry("torch " + name + "Storage", new StorageClass(Optional.of(type)));
    }

    private static Map.Entry<String, AllowedGlobal> type(String name, ElementType type) {
        return Map.entry("torch " + name, new TypeName(type));
    }

    /** The value of a name in a file. */
    static PickleValue find(String module, String name) {
        AllowedGlobal global = NAMES.get(module + " " + name);
        return global == null ? new Unknown(module + "." + name) : new Global(global);
    }

    /** The value that stands for a call of a function or class, which jrun does not make. */
    static PickleValue callUnknown(String name) {
        if (MAKERS_OF_VALUES.contains(name)) {
            return new Foreign(name, Kind.VALUE);
        }
        return new Foreign(name, MAKERS_OF_TENSORS.contains(name) ? Kind.OBJECT : Kind.REFUSED);
    }

    /** The value that a function makes from its arguments. */
    static PickleValue call(Function function, List<PickleValue> arguments) {
        return switch (function) {
            case ORDERED_DICT -> {
                require(arguments.isEmpty(), "an OrderedDict with arguments");
                yield new Dictionary();
            }
            case DEFAULT_DICT -> new Dictionary();
            case COUNTER -> {
                Dictionary counts = new Dictionary();
                if (!arguments.isEmpty() && arguments.getFirst() instanceof Dictionary given) {
                    counts.items.putAll(given.items);
                }
                yield counts;
            }
            case SET -> {
                Sequence set = new Sequence();
                if (!arguments.isEmpty() && arguments.getFirst() instanceof Sequence given) {
                    set.items.addAll(given.items);
                }
                yield set;
            }
            case DEVICE -> {
                StringJoiner device = new StringJoiner(":");
                arguments.forEach(
                        argument -> device.add(argument instanceof Scalar(Object value) ? String.valueOf(value) : "?"));
                yield new Scalar(device.toString());
            }
            case SIZE -> {
                require(arguments.size() == 1 && arguments.getFirst() instanceof Tuple, "a torch.Size without a tuple");
                yield arguments.getFirst();
            }
            case WRAPPED_TENSOR -> {
                require(
                        !arguments.isEmpty()
                                && (arguments.getFirst() instanceof PickledTensor
                                        || arguments.getFirst() instanceof Foreign),
                        "a parameter without a tensor");
                yield arguments.getFirst();
            }
            case TENSOR_OF_CLASS -> {
                require(arguments.size() >= 3 && arguments.get(2) instanceof Tuple, "a tensor without arguments");
                List<PickleValue> inner = ((Tuple) arguments.get(2)).items();
                yield switch (arguments.getFirst()) {
                    case Global(Function maker) when maker != Function.TENSOR_OF_CLASS -> call(maker, inner);
                    case Unknown(String name) -> callUnknown(name);
                    default -> throw new IllegalArgumentException("the pickle has a tensor without a function");
                };
            }
            case TENSOR_V1 -> tensor(arguments, Optional.empty(), arguments.size());
            case TENSOR_V2 -> tensor(arguments, Optional.empty(), 6);
            case TENSOR_V3 -> {
                require(arguments.size() >= 7, "a tensor without an element type");
                yield switch (arguments.get(6)) {
                    case Global(TypeName(ElementType type)) -> tensor(arguments, Optional.of(type), 7);
                    case Unknown(String name) -> new Foreign(name, Kind.OBJECT);
                    default -> throw new IllegalArgumentException("the pickle has a tensor without an element type");
                };
            }
        };
    }

    /** @param flags the argument that says whether the tensor is the conjugate or the negative of the storage */
    private static PickleValue tensor(List<PickleValue> arguments, Optional<ElementType> given, int flags) {
        if (!arguments.isEmpty() && arguments.getFirst() instanceof Foreign foreign) {
            return foreign;
        }
        require(arguments.size() >= 4 && arguments.getFirst() instanceof Storage, "a tensor without a storage");
        if (arguments.size() > flags
                && arguments.get(flags) instanceof Dictionary set
                && set.items.containsValue(Scalar.TRUE)) {
            return new Foreign("a conjugate or negative view", Kind.OBJECT);
        }
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
