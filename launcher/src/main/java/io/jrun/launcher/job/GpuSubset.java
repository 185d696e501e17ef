package io.jrun.launcher.job;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * Which of a node's GPUs a job uses, by their places in the node's order, from 0.
 *
 * @param without whether {@code places} are those it does not use
 */
public record GpuSubset(boolean without, Set<Integer> places) {
    /** All of a node's. */
    public static final GpuSubset ALL = new GpuSubset(true, Set.of());

    public GpuSubset {
        places = Set.copyOf(places);
    }

    /** Those at {@code places}. */
    public static GpuSubset only(Set<Integer> places) {
        return new GpuSubset(false, places);
    }

    /** All but those at {@code places}. */
    public static GpuSubset without(Set<Integer> places) {
        return new GpuSubset(true, places);
    }

    /** Whether nothing is left out. */
    public boolean isAll() {
        return without && places.isEmpty();
    }

    /** The places named that a node with {@code count} GPUs does not have, in order. */
    public List<Integer> missing(int count) {
        return new TreeSet<>(places).stream().filter(place -> place >= count).toList();
    }

    /** Of {@code gpus}, in the node's order, those that are used. */
    public List<String> of(List<String> gpus) {
        return IntStream.range(0, gpus.size())
                .filter(place -> without != places.contains(place))
                .mapToObj(gpus::get)
                .toList();
    }
}
