package io.jrun.launcher.job;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * The GPUs of a node that a job uses, by index in the node's order, from 0.
 *
 * @param without whether {@code places} are the unused GPUs
 */
public record GpuSubset(boolean without, Set<Integer> places) {
    /** All GPUs of a node. */
    public static final GpuSubset ALL = new GpuSubset(true, Set.of());

    public GpuSubset {
        places = Set.copyOf(places);
    }

    /** The GPUs at {@code places}. */
    public static GpuSubset only(Set<Integer> places) {
        return new GpuSubset(false, places);
    }

    /** All GPUs except those at {@code places}. */
    public static GpuSubset without(Set<Integer> places) {
        return new GpuSubset(true, places);
    }

    /** Whether all GPUs are used. */
    public boolean isAll() {
        return without && places.isEmpty();
    }

    /** The named indices that a node with {@code count} GPUs lacks, in order. */
    public List<Integer> missing(int count) {
        return new TreeSet<>(places).stream().filter(place -> place >= count).toList();
    }

    /** Returns the used GPUs of {@code gpus}, which are in the node's order. */
    public List<String> of(List<String> gpus) {
        return IntStream.range(0, gpus.size())
                .filter(place -> without != places.contains(place))
                .mapToObj(gpus::get)
                .toList();
    }
}
