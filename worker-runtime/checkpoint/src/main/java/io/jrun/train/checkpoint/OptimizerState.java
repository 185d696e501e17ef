package io.jrun.train.checkpoint;

import io.jrun.train.tensor.TensorMemory;
import java.io.ByteArrayOutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The state of an optimizer for each parameter (AdamW: exp_avg, exp_avg_sq, step; SGD: momentum_buffer) as named
 * tensors: {@code PARAMETER.exp_avg}. The presets do not map the state. The optimizer therefore saves itself to an
 * archive in memory. The archive names parameters by their address. Options such as the learning rate belong to the
 * program and do not change.
 */
public final class OptimizerState {
    private static final String STATE = "state";
    private static final String GROUPS = "param_groups";
    private static final String VERSION = "pytorch_version";

    /** JavaCPP has places for ten writers in a process, and takes and frees a place without a lock. */
    private static final Object WRITER_PLACES = new Object();

    private OptimizerState() {}

    /**
     * Returns a copy of the state; empty before the first step.
     *
     * @param parameters the optimizer's parameters by name
     * @throws CheckpointException if the optimizer has a parameter that {@code parameters} lacks, or if libtorch cannot
     *     save its state, as that of LBFGS
     */
    public static Map<String, Tensor> of(Optimizer optimizer, Map<String, Tensor> parameters) {
        Map<String, String> names = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> names.put(key(tensor), name));
        Map<String, Tensor> state = new LinkedHashMap<>();
        try (PointerScope _ = new PointerScope()) {
            InputArchive perParameter = child(archive(optimizer), STATE);
            for (String key : keys(perParameter)) {
                String name = names.get(key);
                if (name == null) {
                    throw new CheckpointException("the optimizer has a parameter that the model lacks."
                            + " Save an optimizer together with the model of its parameters.");
                }
                InputArchive fields = child(perParameter, key);
                for (String field : keys(fields)) {
                    state.put(name + "." + field, TensorMemory.own(toTensor(name, field, value(fields, field))));
                }
            }
        }
        return state;
    }

    /**
     * Gives the optimizer a saved state. Later steps equal the steps of an optimizer without an interruption.
     *
     * @param parameters the optimizer's parameters by name
     * @throws CheckpointException if a state belongs to no parameter or has another shape; the message names the state
     */
    public static void load(Optimizer optimizer, Map<String, Tensor> parameters, Map<String, Tensor> state) {
        TreeSet<String> unclaimed = new TreeSet<>(state.keySet());
        try (PointerScope _ = new PointerScope()) {
            InputArchive current = archive(optimizer);
            OutputArchive perParameter = new OutputArchive();
            parameters.forEach((name, tensor) -> {
                OutputArchive fields = new OutputArchive();
                boolean isEmpty = true;
                for (String field : fieldsOf(name, state)) {
                    String full = name + "." + field;
                    fields.write(field, toValue(full, tensor, state));
                    unclaimed.remove(full);
                    isEmpty = false;
                }
                if (!isEmpty) {
                    perParameter.write(key(tensor), fields);
                }
            });
            if (!unclaimed.isEmpty()) {
                throw new CheckpointException(
                        "the checkpoint has optimizer state for parameters that the model lacks: " + unclaimed);
            }
            OutputArchive root = new OutputArchive();
            root.write(VERSION, value(current, VERSION));
            root.write(STATE, perParameter);
            OutputArchive groups = new OutputArchive();
            copy(child(current, GROUPS), groups);
            root.write(GROUPS, groups);
            load(optimizer, root, state.keySet());
        }
    }

    /** The native library reads the fields of its kind of optimizer, and knows no other. */
    private static void load(Optimizer optimizer, OutputArchive root, Set<String> names) {
        try {
            optimizer.load(reread(root));
        } catch (RuntimeException e) {
            Set<String> fields = new TreeSet<>();
            names.forEach(name -> fields.add(name.substring(name.lastIndexOf('.') + 1)));
            throw new CheckpointException(
                    "the checkpoint has the state of another kind of optimizer: its fields are " + fields
                            + ". Use the optimizer that the checkpoint was made with.",
                    e);
        }
    }

    /** Field names have no dot, but parameter names may have dots: "a.b" must not get the state of "a.b.c". */
    private static Set<String> fieldsOf(String parameter, Map<String, Tensor> state) {
        TreeSet<String> fields = new TreeSet<>();
        for (String full : state.keySet()) {
            int dot = full.lastIndexOf('.');
            if (dot == parameter.length() && full.startsWith(parameter)) {
                fields.add(full.substring(dot + 1));
            }
        }
        return fields;
    }

    private static IValue toValue(String full, Tensor parameter, Map<String, Tensor> state) {
        Tensor saved = state.get(full);
        if (saved == null) {
            throw new CheckpointException("the checkpoint lacks optimizer state '" + full + "'");
        }
        if (saved.dim() == 0 && saved.scalar_type().intern() == torch.ScalarType.Long) {
            return new IValue(saved.item_long());
        }
        ModelState.checkFits(full, parameter, saved);
        return new IValue(saved.to(parameter.device(), saved.scalar_type(), false, true, new MemoryFormatOptional()));
    }

    private static Tensor toTensor(String name, String field, IValue value) {
        if (value.isTensor()) {
            return value.toTensor().clone();
        }
        if (value.isInt()) {
            return torch.scalar_tensor(
                    new org.bytedeco.pytorch.Scalar(value.toInt()),
                    new org.bytedeco.pytorch.TensorOptions(torch.ScalarType.Long));
        }
        throw new CheckpointException(
                "optimizer state '" + name + "." + field + "' is neither a tensor nor a whole number");
    }

    private static void copy(InputArchive from, OutputArchive to) {
        for (String key : keys(from)) {
            InputArchive inner = new InputArchive();
            if (from.try_read(key, inner)) {
                OutputArchive copied = new OutputArchive();
                copy(inner, copied);
                to.write(key, copied);
            } else {
                to.write(key, value(from, key));
            }
        }
    }

    private static InputArchive archive(Optimizer optimizer) {
        OutputArchive out = new OutputArchive();
        try {
            optimizer.save(out);
            return reread(out);
        } catch (RuntimeException e) {
            throw new CheckpointException(
                    "the state of the optimizer " + optimizer.getClass().getSimpleName()
                            + " cannot be saved: libtorch fails to write it. Save the model alone, or train with AdamW,"
                            + " Adam or SGD.",
                    e);
        }
    }

    private static InputArchive reread(OutputArchive out) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        synchronized (WRITER_PLACES) {
            try (ArchiveWriter writer = new ArchiveWriter() {
                @Override
                public long call(Pointer data, long size) {
                    byte[] chunk = new byte[Math.toIntExact(size)];
                    new BytePointer(data).get(chunk);
                    bytes.writeBytes(chunk);
                    return size;
                }
            }) {
                out.save_to(writer);
            }
        }
        InputArchive in = new InputArchive();
        BytePointer copy = new BytePointer(bytes.toByteArray());
        in.load_from(copy, copy.capacity());
        return in;
    }

    private static InputArchive child(InputArchive archive, String key) {
        InputArchive child = new InputArchive();
        archive.read(key, child);
        return child;
    }

    private static IValue value(InputArchive archive, String key) {
        IValue value = new IValue();
        archive.read(key, value);
        return value;
    }

    private static Iterable<String> keys(InputArchive archive) {
        TreeSet<String> keys = new TreeSet<>();
        StringVector all = archive.keys();
        for (long i = 0; i < all.size(); i++) {
            keys.add(all.get(i).getString());
        }
        return keys;
    }

    /** The name of a parameter in an optimizer's archive. */
    private static String key(Tensor parameter) {
        return Long.toUnsignedString(TensorMemory.identity(parameter));
    }
}
