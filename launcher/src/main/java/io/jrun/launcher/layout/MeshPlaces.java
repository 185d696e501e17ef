package io.jrun.launcher.layout;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The places of the ranks in the mesh of the program, as the workers report them: {@code pp=1 dp=0 tp=1}. Not
 * thread-safe.
 */
public final class MeshPlaces {
    /** The axis of the ranks that share each layer. */
    private static final String TENSOR_AXIS = "tp=";

    private final Map<Integer, String> places = new HashMap<>();
    private boolean hasWarned;

    /** Forgets all places: another round begins. */
    public void clear() {
        places.clear();
        hasWarned = false;
    }

    /** The place of a rank; empty if the rank has reported none. */
    public String of(int rank) {
        return places.getOrDefault(rank, "");
    }

    /**
     * Stores the place of a rank.
     *
     * @return a warning of one line, once for each round: if all ranks have reported their places, and ranks that share
     *     layers are on several nodes
     */
    public Optional<String> put(int rank, String place, RankMap ranks) {
        places.put(rank, place);
        if (hasWarned || places.size() < ranks.worldSize()) {
            return Optional.empty();
        }
        Optional<String> warning = warning(ranks);
        hasWarned = warning.isPresent();
        return warning;
    }

    private Optional<String> warning(RankMap ranks) {
        Collection<List<Placement>> groups = tensorParallelGroups(ranks);
        List<List<Placement>> split =
                groups.stream().filter(group -> hosts(group).size() > 1).toList();
        if (split.isEmpty()) {
            return Optional.empty();
        }
        List<Placement> first = split.getFirst();
        return Optional.of("warning: " + split.size() + " of " + groups.size()
                + " tensor parallel groups are on several nodes, such as the ranks "
                + first.stream().map(member -> Integer.toString(member.rank())).collect(Collectors.joining(", "))
                + " on " + String.join(" and ", hosts(first))
                + ". Each layer then sends 4 all-reduces of its activations over the network for each micro-batch. Use"
                + " --map-by=slot and a multiple of " + first.size() + " workers on each node.");
    }

    /** The ranks that differ along the axis tp alone. */
    private Collection<List<Placement>> tensorParallelGroups(RankMap ranks) {
        Map<String, List<Placement>> groups = new LinkedHashMap<>();
        for (Placement member : ranks.placements()) {
            List<String> axes = Stream.of(of(member.rank()).split(" ")).toList();
            if (axes.stream().anyMatch(axis -> axis.startsWith(TENSOR_AXIS))) {
                String others = axes.stream()
                        .filter(axis -> !axis.startsWith(TENSOR_AXIS))
                        .collect(Collectors.joining(" "));
                groups.computeIfAbsent(others, _ -> new ArrayList<>()).add(member);
            }
        }
        return groups.values();
    }

    private static SortedSet<String> hosts(List<Placement> group) {
        return group.stream().map(Placement::host).collect(Collectors.toCollection(TreeSet::new));
    }
}
