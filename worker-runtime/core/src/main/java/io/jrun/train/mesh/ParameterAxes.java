package io.jrun.train.mesh;

import io.jrun.train.tensor.TensorMemory;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The axes of a parameter: along which axes the ranks hold different parts, and along which axes their gradients
 * differ and must be averaged. A parallelism notes the axes of the parameters of a model when it changes the model.
 * Wrappers, clips, averages and checks find the axes by the identity of the tensor. A parameter without a note is equal
 * on all ranks. Thread-safe.
 */
public final class ParameterAxes {
    private static final Map<Long, List<Note>> NOTES = new ConcurrentHashMap<>();
    private static final ReferenceQueue<Object> COLLECTED = new ReferenceQueue<>();

    private ParameterAxes() {}

    /** The content of a note about a parameter. */
    private enum Kind {
        DIVIDED,
        AVERAGED,
        REDUCED
    }

    /** A note is valid as long as its owner lives, because the owner keeps the tensor alive. */
    private static final class Note extends WeakReference<Object> {
        private final long identity;
        private final Kind kind;
        private final @Nullable MeshAxis axis;
        private final String clip;

        Note(Tensor parameter, Kind kind, @Nullable MeshAxis axis, String clip, Object owner) {
            super(owner, COLLECTED);
            this.identity = TensorMemory.identity(parameter);
            this.kind = kind;
            this.axis = axis;
            this.clip = clip;
        }
    }

    /**
     * Notes that each rank of an axis holds another part of a parameter.
     *
     * @param owner keeps the tensor alive, such as the layer of the parameter
     */
    public static void setDivided(Tensor parameter, MeshAxis axis, Object owner) {
        if (axis.size() > 1) {
            add(new Note(parameter, Kind.DIVIDED, axis, "", owner));
        }
    }

    /**
     * Notes that the ranks of an axis hold equal parameters and compute different gradients, because they train on
     * different tokens or samples.
     *
     * @param owner keeps the tensors alive, such as the model
     */
    public static void setAveraged(Collection<Tensor> parameters, MeshAxis axis, Object owner) {
        if (axis.size() > 1) {
            parameters.forEach(parameter -> add(new Note(parameter, Kind.AVERAGED, axis, "", owner)));
        }
    }

    /**
     * Notes that the gradients of parameters are complete on some ranks only, so that only one method can bound them.
     *
     * @param clip the method, such as {@code ZeroOptimizer.clipByGlobalNorm}
     * @param owner the object of the method
     */
    public static void setReduced(Collection<Tensor> parameters, String clip, Object owner) {
        parameters.forEach(parameter -> add(new Note(parameter, Kind.REDUCED, null, clip, owner)));
    }

    /** Removes the notes of {@link #setReduced}. */
    public static void clearReduced(Collection<Tensor> parameters, Object owner) {
        parameters.forEach(parameter -> change(
                TensorMemory.identity(parameter),
                notes -> notes.removeIf(note -> note.kind == Kind.REDUCED && note.refersTo(owner))));
    }

    /** The axes along which the ranks hold different parts of a parameter, in the order of the division. */
    public static List<MeshAxis> divided(Tensor parameter) {
        return axes(parameter, Kind.DIVIDED);
    }

    /** The axes along which the ranks hold equal parameters and compute different gradients. */
    public static List<MeshAxis> averaged(Tensor parameter) {
        return axes(parameter, Kind.AVERAGED);
    }

    /** The only method that can bound the gradient; empty if each rank has the whole gradient of its parameter. */
    public static Optional<String> clip(Tensor parameter) {
        return notes(parameter, Kind.REDUCED).map(note -> note.clip).findFirst();
    }

    private static List<MeshAxis> axes(Tensor parameter, Kind kind) {
        return notes(parameter, kind)
                .flatMap(note -> Stream.ofNullable(note.axis))
                .toList();
    }

    private static Stream<Note> notes(Tensor parameter, Kind kind) {
        return NOTES.getOrDefault(TensorMemory.identity(parameter), List.of()).stream()
                .filter(note -> note.kind == kind && !note.refersTo(null));
    }

    private static void add(Note note) {
        for (Reference<?> old = COLLECTED.poll(); old != null; old = COLLECTED.poll()) {
            if (old instanceof Note collected) {
                change(collected.identity, notes -> notes.remove(collected));
            }
        }
        change(note.identity, notes -> notes.add(note));
    }

    private static void change(long identity, Consumer<List<Note>> change) {
        NOTES.compute(identity, (_, present) -> {
            List<Note> notes = new ArrayList<>(present == null ? List.of() : present);
            change.accept(notes);
            return notes.isEmpty() ? null : List.copyOf(notes);
        });
    }
}
