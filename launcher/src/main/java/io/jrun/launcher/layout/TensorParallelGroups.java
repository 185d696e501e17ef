package io.jrun.launcher.layout;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The tensor parallel groups of a job: {@code size} neighbouring ranks each, since tp is the fastest axis of a mesh.
 * jrun reads the size from the option {@code --tp} among the arguments of the program. Pure.
 *
 * @param size ranks of each group, at least 2
 */
public record TensorParallelGroups(int size) {
    private static final Pattern OPTION = Pattern.compile("--tp(?:=(\\d{1,6}))?");
    private static final Pattern NUMBER = Pattern.compile("\\d{1,6}");

    /** The groups that the arguments of a program ask for; empty without {@code --tp}, or with {@code --tp=1}. */
    public static Optional<TensorParallelGroups> of(List<String> args) {
        OptionalInt size = OptionalInt.empty();
        for (int i = 0; i < args.size(); i++) {
            Matcher option = OPTION.matcher(args.get(i));
            if (option.matches()) {
                String inline = option.group(1);
                String value = inline == null && i + 1 < args.size() ? args.get(i + 1) : inline;
                if (value != null && NUMBER.matcher(value).matches()) {
                    size = OptionalInt.of(Integer.parseInt(value));
                }
            }
        }
        return size.isPresent() && size.getAsInt() > 1
                ? Optional.of(new TensorParallelGroups(size.getAsInt()))
                : Optional.empty();
    }

    /** One line for {@code --dry-run}: that each group is on one node, or the warning. */
    public String describe(RankMap ranks) {
        int groups = ranks.worldSize() / size;
        return warning(ranks)
                .orElseGet(() -> "tensor parallel: " + groups + (groups == 1 ? " group" : " groups") + " of " + size
                        + " ranks, each on one node");
    }

    /** One line with the cost if a group is on several nodes, or if the size does not divide the ranks. */
    public Optional<String> warning(RankMap ranks) {
        if (ranks.worldSize() % size != 0) {
            return Optional.of("warning: --tp=" + size + " does not divide the " + ranks.worldSize()
                    + " ranks of this job. Start a multiple of " + size + " ranks.");
        }
        List<List<Placement>> split = new ArrayList<>();
        for (int first = 0; first < ranks.worldSize(); first += size) {
            List<Placement> group = ranks.placements().subList(first, first + size);
            if (nodes(group).size() > 1) {
                split.add(group);
            }
        }
        if (split.isEmpty()) {
            return Optional.empty();
        }
        List<Placement> first = split.getFirst();
        return Optional.of("warning: " + split.size() + " of " + ranks.worldSize() / size
                + " tensor parallel groups are on several nodes, such as"
                + " ranks " + first.getFirst().rank() + " to " + first.getLast().rank() + " on "
                + String.join(" and ", nodes(first)) + ". Each layer then sends 4 all-reduces of its activations over"
                + " the network for each micro-batch. Use --map-by=slot and a multiple of " + size
                + " workers on each node.");
    }

    private static TreeSet<String> nodes(List<Placement> group) {
        TreeSet<String> hosts = new TreeSet<>();
        group.forEach(place -> hosts.add(place.host()));
        return hosts;
    }
}
