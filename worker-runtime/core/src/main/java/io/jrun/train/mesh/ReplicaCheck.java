package io.jrun.train.mesh;

import io.jrun.comm.Codec;
import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Checks that all ranks that hold a copy of a parameter hold the same bits. A check finds copies that drift, and memory
 * that has changed silently. It reads each parameter once for a checksum (CRC32C), and sends 16 bytes along each axis
 * if all copies are equal. Parameters of which no other rank has a copy are not read. Ranks compare the parts that they
 * hold of divided parameters with equal parts only.
 *
 * <pre>{@code
 * var replicas = ReplicaCheck.of(mesh, Parameters.of(model));   // after all wrappers are made
 * ...
 * if (step % 100 == 0) {
 *     replicas.check(step);
 * }
 * }</pre>
 *
 * <p>Ranks with other kinds of CPUs may round in other ways, so their copies differ in the last bits. Confined to one
 * thread.
 */
public final class ReplicaCheck {
    /** The largest piece that a byte buffer takes. */
    private static final long PIECE = 1L << 30;

    /** A parameter under a key that is equal on the ranks that hold the same part. */
    private record Copy(String key, Tensor parameter) {}

    private final Map<ProcessGroup, List<Copy>> copies = new LinkedHashMap<>();

    private ReplicaCheck(List<ProcessGroup> groups, Map<String, ShardedTensor> parameters) {
        for (ProcessGroup group : groups) {
            if (group.size() > 1) {
                List<Copy> here = new ArrayList<>();
                parameters.forEach((name, parameter) -> {
                    List<MeshAxis> axes = parameter.divided();
                    if (parameter.isHere() && axes.stream().noneMatch(axis -> containsAll(axis.group(), group))) {
                        here.add(new Copy(key(name, axes), parameter.local()));
                    }
                });
                copies.put(group, here);
            }
        }
    }

    /**
     * Checks along each axis of a mesh.
     *
     * @param parameters by name, as the optimizer takes them
     */
    public static ReplicaCheck of(DeviceMesh mesh, Map<String, ShardedTensor> parameters) {
        return new ReplicaCheck(mesh.shape().names().stream().map(mesh::group).toList(), parameters);
    }

    /** Checks the ranks of one group. */
    public static ReplicaCheck of(ProcessGroup group, Map<String, ShardedTensor> parameters) {
        return new ReplicaCheck(List.of(group), parameters);
    }

    private static boolean containsAll(ProcessGroup group, ProcessGroup members) {
        return ranks(group).containsAll(ranks(members));
    }

    private static Set<Integer> ranks(ProcessGroup group) {
        return IntStream.range(0, group.size())
                .mapToObj(group::worldRank)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String key(String name, List<MeshAxis> axes) {
        return name
                + axes.stream()
                        .map(axis ->
                                " (part " + axis.coordinate() + " of " + axis.size() + " along " + axis.name() + ")")
                        .collect(Collectors.joining());
    }

    /**
     * Compares all copies. Collective on all ranks.
     *
     * @param step number of the step for the message
     * @throws ReplicaException on all ranks of a group whose copies differ; the message names the first parameter that
     *     differs, and the ranks whose copies are not those of most ranks
     */
    public void check(long step) {
        Map<Long, Integer> sums = new HashMap<>();
        copies.forEach((group, here) -> check(group, here, sums, step));
    }

    private static void check(ProcessGroup group, List<Copy> here, Map<Long, Integer> sums, long step) {
        Map<String, String> mine = new LinkedHashMap<>();
        for (Copy copy : here) {
            int sum = sums.computeIfAbsent(TensorMemory.identity(copy.parameter()), _ -> checksum(copy.parameter()));
            mine.put(copy.key(), Integer.toHexString(sum));
        }
        String text = mine.entrySet().stream()
                .map(entry -> entry.getKey() + "\t" + entry.getValue())
                .collect(Collectors.joining("\n"));
        if (!isEqualOnAll(group, text)) {
            compare(group, group.objects().allGather(text, Codec.STRING), step);
        }
    }

    private static boolean isEqualOnAll(ProcessGroup group, String text) {
        CRC32C sum = new CRC32C();
        sum.update(text.getBytes(StandardCharsets.UTF_8));
        long[] mine = {sum.getValue(), text.hashCode()};
        long[] all = new long[mine.length * group.size()];
        group.allGather(MemorySegment.ofArray(mine), MemorySegment.ofArray(all), DataType.I64, mine.length);
        return IntStream.range(0, all.length).allMatch(i -> all[i] == mine[i % mine.length]);
    }

    private static int checksum(Tensor parameter) {
        CRC32C sum = new CRC32C();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            MemorySegment bytes =
                    TensorMemory.segment(DeviceWaits.onHost(parameter.detach().contiguous()));
            for (long at = 0; at < bytes.byteSize(); at += PIECE) {
                sum.update(bytes.asSlice(at, Math.min(PIECE, bytes.byteSize() - at))
                        .asByteBuffer());
            }
        }
        return (int) sum.getValue();
    }

    /** Ranks may hold other parameters, as those of other stages of a pipeline. */
    private static void compare(ProcessGroup group, List<String> texts, long step) {
        Map<String, Map<String, List<Integer>>> ranksBySum = new LinkedHashMap<>();
        for (int rank = 0; rank < texts.size(); rank++) {
            int worldRank = group.worldRank(rank);
            texts.get(rank)
                    .lines()
                    .map(line -> line.split("\t", 2))
                    .forEach(entry -> ranksBySum
                            .computeIfAbsent(entry[0], _ -> new TreeMap<>())
                            .computeIfAbsent(entry[1], _ -> new ArrayList<>())
                            .add(worldRank));
        }
        List<String> differing = ranksBySum.entrySet().stream()
                .filter(parameter -> parameter.getValue().size() > 1)
                .map(Map.Entry::getKey)
                .toList();
        if (!differing.isEmpty()) {
            String key = differing.getFirst();
            throw new ReplicaException("step " + step + ": parameter '" + key + "' differs "
                    + ranks(ranksBySum.getOrDefault(key, Map.of()))
                    + (differing.size() == 1 ? "" : ", and " + (differing.size() - 1) + " more parameters differ")
                    + ". Copies must be equal after each step. Go on from the checkpoint before. If the error comes"
                    + " back, these ranks do not average all gradients; if not, check the memory of the rank's node.");
        }
    }

    private static String ranks(Map<String, List<Integer>> bySum) {
        int all = bySum.values().stream().mapToInt(List::size).sum();
        TreeSet<Integer> odd = new TreeSet<>();
        List<Integer> most = List.of();
        for (List<Integer> ranks : bySum.values()) {
            if (2 * ranks.size() > all) {
                most = ranks;
            } else {
                odd.addAll(ranks);
            }
        }
        return most.isEmpty()
                ? "between the ranks " + odd
                : "on " + (odd.size() == 1 ? "rank " + odd.first() : "the ranks " + odd)
                        + " from the copies of the ranks " + most;
    }
}
