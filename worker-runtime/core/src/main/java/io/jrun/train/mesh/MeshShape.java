package io.jrun.train.mesh;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Names and sizes of the axes of a mesh. Ranks have the numbers of the elements of an array in row-major order. The
 * last axis changes fastest, so ranks that differ on the last axis only are neighbours. With the axes
 * {@code pp, dp, cp, tp} this is Megatron's order tp-cp-dp-pp and torchtitan's mesh. A pure function of the axes. The
 * class makes no group.
 */
public final class MeshShape {
    private final Map<String, Integer> axes;

    private MeshShape(Map<String, Integer> axes) {
        this.axes = axes;
    }

    /**
     * The shape with these axes, the slowest first.
     *
     * @throws IllegalArgumentException if there is no axis, a size is below 1, a name is empty, or the ranks exceed 32
     *     bits
     */
    public static MeshShape of(Map<String, Integer> sizes) {
        if (sizes.isEmpty()) {
            throw new IllegalArgumentException("a mesh needs at least one axis");
        }
        sizes.forEach((name, size) -> {
            if (name.isBlank() || size < 1) {
                throw new IllegalArgumentException(
                        "axis '" + name + "' has size " + size + ": an axis needs a name and a size of at least 1");
            }
        });
        double ranks = sizes.values().stream().reduce(1.0, (product, size) -> product * size, (a, b) -> a * b);
        if (ranks > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a mesh of " + sizes + " has more ranks than a job can have");
        }
        return new MeshShape(new LinkedHashMap<>(sizes));
    }

    /** Number of ranks: the product of all sizes. */
    public int ranks() {
        return axes.values().stream().reduce(1, (product, size) -> product * size);
    }

    /** Names of the axes, the slowest first. */
    public List<String> names() {
        return List.copyOf(axes.keySet());
    }

    /**
     * Number of ranks along {@code axis}.
     *
     * @throws IllegalArgumentException if the mesh has no such axis
     */
    public int size(String axis) {
        Integer size = axes.get(axis);
        if (size == null) {
            throw new IllegalArgumentException(
                    "the mesh has no axis '" + axis + "': its axes are " + String.join(", ", axes.keySet()));
        }
        return size;
    }

    /** Position of {@code rank} along {@code axis}, 0 to size-1. */
    public int coordinate(int rank, String axis) {
        return rank / stride(axis) % size(axis);
    }

    /** The position of {@code rank} as text, such as {@code pp=1 dp=0 tp=1}. */
    public String place(int rank) {
        return axes.keySet().stream()
                .map(axis -> axis + "=" + coordinate(rank, axis))
                .collect(Collectors.joining(" "));
    }

    /** All groups along {@code along}. The ranks of each group ascend, and groups are ordered by their first rank. */
    public List<List<Integer>> groups(String... along) {
        List<List<Integer>> groups = new ArrayList<>();
        for (int rank = 0; rank < ranks(); rank++) {
            List<Integer> group = groupOf(rank, Set.of(along));
            if (group.getFirst() == rank) {
                groups.add(group);
            }
        }
        return List.copyOf(groups);
    }

    /** The ranks that differ from {@code rank} on the axes {@code along} only; ascending, {@code rank} included. */
    public List<Integer> groupOf(int rank, Collection<String> along) {
        along.forEach(this::size);
        List<Integer> group = new ArrayList<>();
        for (int other = 0; other < ranks(); other++) {
            if (samePlace(rank, other, along)) {
                group.add(other);
            }
        }
        return List.copyOf(group);
    }

    private boolean samePlace(int rank, int other, Collection<String> exceptAxes) {
        return axes.keySet().stream()
                .filter(axis -> !exceptAxes.contains(axis))
                .allMatch(axis -> coordinate(rank, axis) == coordinate(other, axis));
    }

    private int stride(String axis) {
        size(axis);
        int stride = 1;
        for (Entry<String, Integer> entry : axes.entrySet()) {
            stride = entry.getKey().equals(axis) ? 1 : stride * entry.getValue();
        }
        return stride;
    }

    /** The sizes as an equation, such as {@code pp 2 x dp 3 x tp 2 = 12}. */
    @Override
    public String toString() {
        return axes.entrySet().stream()
                        .map(axis -> axis.getKey() + " " + axis.getValue())
                        .collect(Collectors.joining(" x "))
                + " = " + ranks();
    }
}
