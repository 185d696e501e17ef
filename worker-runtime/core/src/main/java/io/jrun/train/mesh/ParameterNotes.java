package io.jrun.train.mesh;

import io.jrun.train.tensor.ModuleTensors;
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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
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
    private static final AtomicLong CHANGES = new AtomicLong();
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
     * @throws IllegalArgumentException if another parallelism uses the ranks of an axis for the parameter already
     */
    public static void setPlaced(ShardedTensor parameter, Object owner) {
        requireOtherRanks(parameter.local(), parameter.placements());
        add(new Note(parameter.local(), parameter.placements(), parameter.globalShape(), owner));
    }

    /**
     * Keeps this rank's part of a parameter that each rank has completely, and notes the part. The tensor stays the same
     * object. The memory of the whole tensor is free afterwards.
     *
     * @param owner keeps the tensor alive, such as the layer of the parameter
     */
    public static void divide(String name, Tensor parameter, Shard placement, MeshAxis axis, Object owner) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            ShardedTensor part = ShardedTensor.distribute(name, parameter, placement, axis);
            parameter.set_data(part.local());
            part.local().close();
            setPlaced(part.withLocal(parameter), owner);
        }
    }

    /**
     * Checks that a parallelism may divide the parameters of a layer.
     *
     * @param layer its name
     * @param parallelism the name of the class, for messages
     * @throws IllegalArgumentException if ranks share a parameter already, or if a wrapper has its gradient
     */
    public static void requireWhole(String layer, Module module, String parallelism) {
        ModuleTensors.parameters(module).forEach((name, tensor) -> {
            ShardedTensor.of(name, tensor).divided().stream().findFirst().ifPresent(axis -> {
                throw new IllegalArgumentException("layer '" + layer + "': ranks of the axis '" + axis.name()
                        + "' share its " + name + " already. Apply " + parallelism + " once.");
            });
            if (gradients(tensor).isPresent()) {
                throw new IllegalArgumentException("layer '" + layer + "': its " + name
                        + " is prepared for a reduction of gradients already. Apply " + parallelism
                        + " before FullyShard, DDP and ZeRO.");
            }
        });
    }

    /**
     * Notes that the ranks of an axis hold equal parameters and compute different gradients, because they train on
     * different tokens or samples.
     *
     * @param owner keeps the tensors alive, such as the model
     * @throws IllegalArgumentException if another parallelism uses the ranks of the axis for a parameter already
     */
    public static void setAveraged(Collection<Tensor> parameters, MeshAxis axis, Object owner) {
        List<AxisPlacement> placements = List.of(new AxisPlacement(axis, new Replicate()));
        parameters.forEach(parameter -> requireOtherRanks(parameter, placements));
        parameters.forEach(parameter -> add(new Note(parameter, placements, null, owner)));
    }

    private static void requireOtherRanks(Tensor parameter, List<AxisPlacement> added) {
        for (AxisPlacement before : placements(parameter)) {
            for (AxisPlacement each : added) {
                if (each.axis().size() > 1
                        && each.axis().group().equals(before.axis().group())) {
                    throw new IllegalArgumentException(
                            "two parallelisms use the ranks of the axis '"
                                    + each.axis().name() + "' for a parameter of shape " + TensorMemory.shape(parameter)
                                    + ". Give each parallelism an axis of its own: DeviceMesh.of(world, \"cp\", 2, \"tp\", 2).");
                }
            }
        }
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

    /** Notes where passes without a reduction add gradients of parameters. The note is valid as long as {@code sums} lives. */
    public static void setUnreduced(Collection<Tensor> parameters, UnreducedGradients sums) {
        parameters.forEach(parameter -> add(new Note(parameter, List.of(), null, sums)));
    }

    /**
     * Drops what passes without a reduction have added for parameters: a part of each optimizer's {@code zeroGradients()}.
     *
     * @param parameters their identities, see {@code TensorMemory.identity}; also those of which this rank has no element
     */
    public static void dropUnreduced(Set<Long> parameters) {
        owners(parameters, UnreducedGradients.class).forEach(sums -> sums.drop(parameters));
    }

    /** Notes that there are copies of the values of parameters. The note is valid as long as {@code copies} lives. */
    public static void setCopies(Collection<Tensor> parameters, ParameterCopies copies) {
        parameters.forEach(parameter -> add(new Note(parameter, List.of(), null, copies)));
    }

    /**
     * Tells the owners of copies that parameters have new values: the end of each optimizer's step.
     *
     * @param parameters their identities, see {@code TensorMemory.identity}; also those of which this rank has no element
     */
    public static void noteUpdate(Set<Long> parameters) {
        owners(parameters, ParameterCopies.class).forEach(ParameterCopies::parametersAreUpdated);
    }

    private static <T> Stream<T> owners(Set<Long> parameters, Class<T> type) {
        return parameters.stream()
                .flatMap(parameter -> NOTES.getOrDefault(parameter, List.of()).stream())
                .map(Reference::get)
                .filter(type::isInstance)
                .map(type::cast)
                .distinct();
    }

    /** Whether a parallelism has made a note about a parameter. */
    public static boolean isNoted(Tensor parameter) {
        return notes(parameter).findAny().isPresent();
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

    /** A number that rises with each change of a note. A reader reads the number before the notes. */
    public static long changes() {
        return CHANGES.get();
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
        CHANGES.incrementAndGet();
    }
}
