package io.jrun.train.mesh;

import io.jrun.comm.Codec;
import io.jrun.comm.ProcessGroup;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The ranks over which something adds or averages parameters or gradients. Refuses groups that do not fit the
 * placements of the parameters.
 *
 * @param user what adds or averages, for messages, such as {@code DistributedDataParallel}
 * @param ranks the ranks
 */
public record GradientGroup(String user, ProcessGroup ranks) {
    private static final String OTHER_RANKS =
            "Pass ranks that hold the same part: axes of the mesh along which the parameter is not divided.";

    /**
     * Checks that the ranks can reduce the gradients of the parameters: all ranks hold the same parts, except along axes
     * that route samples to the parts. The ranks include all ranks of these axes, and all ranks whose gradients must be
     * averaged. Collective.
     *
     * @throws IllegalArgumentException if a parameter does not fit; the message names the parameter, the axis and both
     *     groups
     */
    public void requireReduces(Map<String, ShardedTensor> parameters) {
        requireReducesHere(parameters);
        if (ranks.size() > 1) {
            requireEqualParts(ranks.objects().allGather(parts(parameters), Codec.STRING));
        }
    }

    /** As {@link #requireReduces}, from the placements of this rank alone. Sends nothing. */
    public void requireReducesHere(Map<String, ShardedTensor> parameters) {
        parameters.forEach((name, parameter) -> {
            dividedWithoutRouting(parameter).forEach(axis -> requireOutside(name, axis));
            parameter.routed().forEach(axis -> requireInside("the experts '" + name + "' are divided", axis));
            requireAverages(name, parameter);
        });
    }

    /**
     * Checks that all ranks hold the same parts of the parameters, and that the ranks include all ranks whose values
     * must be averaged: for averages of parameters. Sends nothing.
     *
     * @throws IllegalArgumentException as {@link #requireReduces}
     */
    public void requireFitsHere(Map<String, ShardedTensor> parameters) {
        Parameters.requireCurrent(parameters.values());
        parameters.forEach((name, parameter) -> {
            parameter.divided().forEach(axis -> requireOutside(name, axis));
            requireAverages(name, parameter);
        });
    }

    /** The axes whose ranks hold other parts, and get no samples for their own part. */
    private static Stream<MeshAxis> dividedWithoutRouting(ShardedTensor parameter) {
        return parameter.divided().stream().filter(axis -> !parameter.routed().contains(axis));
    }

    private void requireAverages(String name, ShardedTensor parameter) {
        parameter.averaged().forEach(axis -> requireInside("the gradients of parameter '" + name + "' differ", axis));
    }

    private void requireOutside(String name, MeshAxis axis) {
        others(axis).filter(rank -> members(ranks).contains(rank)).findFirst().ifPresent(other -> {
            throw dividedAlong(name, axis, other);
        });
    }

    private void requireInside(String what, MeshAxis axis) {
        others(axis).filter(rank -> !members(ranks).contains(rank)).findFirst().ifPresent(other -> {
            throw new IllegalArgumentException(what + " along the axis '" + axis.name() + "' (ranks "
                    + members(axis.group()) + "), but " + user + " averages over the ranks " + members(ranks)
                    + ", without rank " + other + ". Pass a group with all ranks of the axis, such as"
                    + " mesh.group(\"dp\", \"" + axis.name() + "\").");
        });
    }

    /**
     * Checks that the ranks include all ranks that hold other parameters, or other parts of the parameters or of their
     * gradients: for decisions that these ranks must make together. Sends nothing.
     *
     * @throws IllegalArgumentException if a rank is missing; the message names the axis and both groups
     */
    public void requireCovers(Collection<ShardedTensor> parameters) {
        Parameters.requireCurrent(parameters);
        Set<Integer> deciding = new HashSet<>(members(ranks));
        Set<ProcessGroup> checked = new HashSet<>();
        parameters.forEach(parameter -> {
            partly(parameter)
                    .filter(each -> checked.add(each.axis().group()))
                    .forEach(each -> others(each.axis())
                            .filter(rank -> !deciding.contains(rank))
                            .findFirst()
                            .ifPresent(other -> {
                                throw new IllegalArgumentException(place(parameter, each) + ", but " + user
                                        + " decides for the ranks " + members(ranks) + ", without rank " + other
                                        + ". Pass a group with all ranks of the axis, such as world.group().");
                            }));
            gradientRanks(parameter)
                    .filter(checked::add)
                    .filter(sharing -> !deciding.containsAll(members(sharing)))
                    .ifPresent(sharing -> {
                        throw new IllegalArgumentException("the gradient of parameter '" + parameter.name()
                                + "' is divided among the ranks " + members(sharing) + ", but " + user
                                + " decides for the ranks " + members(ranks)
                                + ". Pass a group with all of these ranks, such as world.group().");
                    });
        });
    }

    /**
     * Checks a group for decisions that all ranks must make together which hold parts of the parameters. Sends nothing.
     *
     * @param user what decides, for messages
     * @param ranks null for a decision of this rank alone
     * @throws IllegalArgumentException as {@link #requireCovers(Collection)}; without ranks if another rank holds a part
     */
    public static void requireCovers(String user, @Nullable ProcessGroup ranks, Collection<ShardedTensor> parameters) {
        if (ranks != null) {
            new GradientGroup(user, ranks).requireCovers(parameters);
            return;
        }
        Parameters.requireCurrent(parameters);
        for (ShardedTensor parameter : parameters) {
            partly(parameter).findFirst().ifPresent(each -> {
                throw new IllegalArgumentException(place(parameter, each) + ", but " + user
                        + " has no group and decides for this rank alone. Pass a group with all ranks of the axis, such as"
                        + " world.group().");
            });
            gradientRanks(parameter).filter(sharing -> sharing.size() > 1).ifPresent(sharing -> {
                throw new IllegalArgumentException("the gradient of parameter '" + parameter.name()
                        + "' is divided among the ranks " + members(sharing) + ", but " + user
                        + " has no group and decides for this rank alone. Pass a group with all of these ranks,"
                        + " such as world.group().");
            });
        }
    }

    /** The placements by which no rank of the axis has the whole parameter, or some ranks have nothing of it. */
    private static Stream<AxisPlacement> partly(ShardedTensor parameter) {
        return parameter.placements().stream()
                .filter(each -> each.axis().size() > 1
                        && (each.divides()
                                || (each.placement() instanceof OnRanks some
                                        && some.coordinates().size()
                                                < each.axis().size())));
    }

    private static String place(ShardedTensor parameter, AxisPlacement placement) {
        MeshAxis axis = placement.axis();
        return "parameter '" + parameter.name() + "' is "
                + (placement.divides() ? "divided along the axis '" : "on some ranks only of the axis '") + axis.name()
                + "' (ranks " + members(axis.group()) + ")";
    }

    /** The ranks that have parts of the gradient of a parameter that each of these ranks has as a whole: ZeRO. */
    private static Optional<ProcessGroup> gradientRanks(ShardedTensor parameter) {
        return ParameterNotes.gradients(parameter.local()).flatMap(GradientStore::ranks);
    }

    private IllegalArgumentException dividedAlong(String name, MeshAxis axis, int other) {
        int own = ranks.worldRank(ranks.groupRank());
        return new IllegalArgumentException("parameter '" + name + "' is divided along the axis '" + axis.name()
                + "' (ranks " + members(axis.group()) + "), but " + user + " averages over the ranks "
                + members(ranks) + ", where ranks " + Math.min(own, other) + " and " + Math.max(own, other)
                + " hold different parts. " + OTHER_RANKS);
    }

    /** One line for each parameter and axis. */
    private static String parts(Map<String, ShardedTensor> parameters) {
        List<String> lines = new ArrayList<>();
        parameters.forEach((name, parameter) -> dividedWithoutRouting(parameter)
                .forEach(axis -> lines.add("'" + name + "' along the axis '" + axis.name() + "': part "
                        + axis.coordinate() + " of " + axis.size() + " (ranks " + members(axis.group()) + ")")));
        return String.join("\n", lines);
    }

    private void requireEqualParts(List<String> parts) {
        for (int rank = 1; rank < parts.size(); rank++) {
            Map<String, String> first = byParameter(parts.getFirst());
            Map<String, String> other = byParameter(parts.get(rank));
            for (Entry<String, String> part : (first.size() < other.size() ? other : first).entrySet()) {
                String here = first.getOrDefault(part.getKey(), "whole");
                String there = other.getOrDefault(part.getKey(), "whole");
                if (!withoutRanks(here).equals(withoutRanks(there))) {
                    throw new IllegalArgumentException("parameter " + part.getKey() + " is " + here + " on rank "
                            + ranks.worldRank(0) + " and " + there + " on rank " + ranks.worldRank(rank) + ", but "
                            + user + " averages over the ranks " + members(ranks)
                            + ". " + OTHER_RANKS);
                }
            }
        }
    }

    private static Map<String, String> byParameter(String lines) {
        return lines.lines()
                .map(line -> line.split(": ", 2))
                .collect(Collectors.toMap(line -> line[0], line -> line[1], (a, _) -> a, LinkedHashMap::new));
    }

    private static String withoutRanks(String part) {
        return part.replaceAll(" \\(.*", "");
    }

    private Stream<Integer> others(MeshAxis axis) {
        return members(axis.group()).stream().filter(rank -> rank != ranks.worldRank(ranks.groupRank()));
    }

    private static List<Integer> members(ProcessGroup group) {
        return IntStream.range(0, group.size()).mapToObj(group::worldRank).toList();
    }
}
