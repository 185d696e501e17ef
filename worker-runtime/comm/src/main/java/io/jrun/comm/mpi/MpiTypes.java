package io.jrun.comm.mpi;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/** MPI's handles for jrun's types and reductions. Immutable. */
final class MpiTypes {
    private final Map<DataType, MemorySegment> types = new EnumMap<>(DataType.class);
    private final Map<ReduceOp, MemorySegment> numeric = new EnumMap<>(ReduceOp.class);
    private final Map<ReduceOp, MemorySegment> logical = new EnumMap<>(ReduceOp.class);

    MpiTypes(MpiLibrary library) {
        for (DataType type : DataType.values()) {
            types.put(type, library.constant("ompi_mpi_" + typeName(type)));
        }
        for (ReduceOp op : ReduceOp.values()) {
            numeric.put(op, library.constant("ompi_mpi_op_" + numericName(op)));
            logical.put(op, library.constant("ompi_mpi_op_" + logicalName(op)));
        }
    }

    /**
     * Returns the MPI type that moves elements of {@code type}; 16-bit integers for F16 and BF16, which MPI cannot
     * reduce.
     */
    MemorySegment type(DataType type) {
        return Objects.requireNonNull(types.get(type));
    }

    /**
     * Returns the reduction of a call. For AVG, the reduction is a sum, and the caller divides.
     *
     * @throws CommException USAGE for F16 and BF16
     */
    MemorySegment op(Call call) {
        DataType type = call.type();
        if (type == DataType.F16 || type == DataType.BF16) {
            throw new CommException(
                    ErrorCode.USAGE,
                    call.describe() + ": MPI has no arithmetic for " + type.label() + ". Use f32, or another backend.");
        }
        return Objects.requireNonNull((type == DataType.BOOL ? logical : numeric).get(call.op()));
    }

    private static String typeName(DataType type) {
        return switch (type) {
            case F16, BF16 -> "uint16_t";
            case F32 -> "float";
            case F64 -> "double";
            case I8 -> "int8_t";
            case U8 -> "uint8_t";
            case I32 -> "int32_t";
            case I64 -> "int64_t";
            case BOOL -> "c_bool";
        };
    }

    private static String numericName(ReduceOp op) {
        return switch (op) {
            case SUM, AVG -> "sum";
            case MIN -> "min";
            case MAX -> "max";
            case PROD -> "prod";
            case BAND -> "band";
            case BOR -> "bor";
            case BXOR -> "bxor";
        };
    }

    private static String logicalName(ReduceOp op) {
        return switch (op) {
            case SUM, AVG, MAX, BOR -> "lor";
            case MIN, PROD, BAND -> "land";
            case BXOR -> "lxor";
        };
    }
}
