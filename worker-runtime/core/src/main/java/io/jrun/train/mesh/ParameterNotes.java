package io.jrun.train.mesh;

import io.jrun.train.tensor.TensorMemory;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
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
 * The notes of parallelisms about the parameters of modules. A note has the axes along which the ranks hold different
 * parts, the axes along which gradients differ and must be averaged, or the place of the gradient. A parallelism makes
 * the note when the parallelism changes a model. {@link ShardedTensor#of} reads the notes by the identity of the tensor. A parameter without a note is equal on
 * all ranks, and its gradient is in {@code .grad}. Thread-safe.
 */
public final class ParameterNotes {
    private static final Map<Long, List<Note>> NOTES = new ConcurrentHashMap<>();
    private static final ReferenceQueue<Object> COLLECTED = new ReferenceQueue<>();

    private ParameterNotes() {}

    /** A note is valid as long as its owner lives, because the owner keeps the tensor alive. */
    private static final class Note extends WeakReference<Object> {
        private final long identity;
        private final List<AxisPlacement> placements;
        /** The shape of the whole tensor; null if the placements divide no tensor. */
        private final @Nullable List<Long> globalShape;

        Note(Tensor parameter, List<AxisPlacement> placements, @Nullable List<Long> globalShape, Object owner) {
            super(owner, COLLECTED);
            this.identity = TensorMemory.identity(parameter);
            this.placements = placements;
            this.globalShape = globalShape;
        }
    }

    /**
     * Notes that a parameter of a module is this part of a tensor.
     *
     * @param owner keeps the local tensor alive, such as the layer of the parameter
     */
    public static void setPlaced(ShardedTensor parameter, Object owner) {
        add(new Note(parameter.local(), parameter.placements(), parameter.globalShape(), owner));
    }

    /**
     * Notes that the ranks of an axis hold equal parameters and compute different gradients, because they train on
     * different tokens or samples.
     *
     * @param owner keeps the tensors alive, such as the model
     */
    public static void setAveraged(Collection<Tensor> parameters, MeshAxis axis, Object owner) {
        List<AxisPlacement> placements = List.of(new AxisPlacement(axis, new Replicate()));
        parameters.forEach(parameter -> add(new Note(parameter, placements, null, owner)));
    }

    /** Notes where the gradients of parameters are. The note is valid as long as the store lives. */
    public static void setGradients(Collection<Tensor> parameters, GradientStore store) {
        parameters.forEach(parameter -> add(new Note(parameter, List.of(), null, store)));
    }

    /** Removes the notes of {@link #setGradients}. */
    public static void clearGradients(Collection<Tensor> parameters, GradientStore store) {
        parameters.forEach(parameter ->
                change(TensorMemory.identity(parameter), notes -> notes.removeIf(note -> note.refersTo(store))));
    }

    /** Where the gradient of a parameter is; empty for {@code .grad}. */
    public static Optional<GradientStore> gradients(Tensor parameter) {
        return notes(parameter)
                .map(Reference::get)
                .filter(GradientStore.class::isInstance)
                .map(GradientStore.class::cast)
                .findFirst();
    }

    /** The placements of a tensor, in the order in which they were noted. */
    static List<AxisPlacement> placements(Tensor parameter) {
        return notes(parameter).flatMap(note -> note.placements.stream()).toList();
    }

    /** The shape of the whole tensor. */
    static List<Long> globalShape(Tensor parameter) {
        return notes(parameter)
                .flatMap(note -> Stream.ofNullable(note.globalShape))
                .findFirst()
                .orElseGet(() ->
                        Arrays.stream(TensorMemory.sizes(parameter)).boxed().toList());
    }

    private static Stream<Note> notes(Tensor parameter) {
        return NOTES.getOrDefault(TensorMemory.identity(parameter), List.of()).stream()
                .filter(note -> !note.refersTo(null));
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
