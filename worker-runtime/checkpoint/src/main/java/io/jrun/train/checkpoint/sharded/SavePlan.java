package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Decides which rank writes which chunk. If several ranks hold a chunk, one of them writes it: chunks are given out by
 * size, the largest first, each to the holder with the fewest bytes so far. A large chunk that several ranks hold is
 * first cut into rows, one piece for each holder at most. A pure function of the chunks of all ranks, so all ranks find
 * the same plan.
 */
final class SavePlan {
    /** A smaller chunk is not cut: the piece would cost more in the index than the balance is worth. */
    private static final long MIN_CUT_BYTES = 1 << 20;

    private final List<List<List<Chunk>>> files;
    private final Map<String, Chunk> tensors;

    private SavePlan(List<List<List<Chunk>>> files, Map<String, Chunk> tensors) {
        this.files = files;
        this.tensors = tensors;
    }

    /**
     * The plan for these ranks.
     *
     * @param held the chunks of each rank
     * @throws CheckpointException if ranks do not agree on type or shape of a tensor, or if parts overlap or leave a
     *     hole
     */
    static SavePlan of(List<List<Chunk>> held) {
        Map<String, Chunk> tensors = new TreeMap<>();
        Map<Chunk, List<Integer>> holders = new LinkedHashMap<>();
        for (int rank = 0; rank < held.size(); rank++) {
            for (Chunk chunk : held.get(rank)) {
                Chunk known = tensors.putIfAbsent(chunk.name(), chunk);
                checkAgreement(chunk, known == null ? chunk : known, rank);
                if (chunk.elements() > 0) {
                    holders.computeIfAbsent(chunk, _ -> new ArrayList<>()).add(rank);
                }
            }
        }
        checkCoverage(tensors, holders.keySet().stream().toList());
        return new SavePlan(assign(cut(holders, held.size()), held.size()), tensors);
    }

    /** The files that a rank writes. The first file has one chunk of each name, the second file the second chunks. */
    List<List<Chunk>> filesOf(int rank) {
        return files.get(rank);
    }

    /** One chunk of each tensor, for its type and global shape; sorted by name. */
    Map<String, Chunk> tensors() {
        return tensors;
    }

    private static void checkAgreement(Chunk chunk, Chunk known, int rank) {
        if (chunk.type() != known.type() || !chunk.globalShape().equals(known.globalShape())) {
            throw new CheckpointException("tensor '" + chunk.name() + "' is " + chunk.type() + chunk.globalShape()
                    + " on rank " + rank + " but " + known.type() + known.globalShape() + " on another rank");
        }
    }

    private static void checkCoverage(Map<String, Chunk> tensors, List<Chunk> chunks) {
        Map<String, List<Chunk>> parts = new TreeMap<>();
        tensors.keySet().forEach(name -> parts.put(name, new ArrayList<>()));
        for (Chunk chunk : chunks) {
            List<Chunk> others = parts.computeIfAbsent(chunk.name(), _ -> new ArrayList<>());
            for (Chunk other : others) {
                if (chunk.overlaps(other)) {
                    throw new CheckpointException("the parts of tensor '" + chunk.name() + "' overlap: shape "
                            + chunk.shape() + " at " + chunk.offsets() + ", and shape " + other.shape() + " at "
                            + other.offsets() + ". Ranks hold the same part, or parts without a common element.");
                }
            }
            others.add(chunk);
        }
        parts.forEach((name, own) -> {
            long present = own.stream().mapToLong(Chunk::elements).sum();
            long wanted =
                    tensors.containsKey(name) ? Chunk.volume(tensors.get(name).globalShape()) : 0;
            if (present != wanted) {
                throw new CheckpointException("the ranks hold " + present + " of the " + wanted
                        + " elements of tensor '" + name + "'. Save with all ranks of the mesh.");
            }
        });
    }

    private static Map<Chunk, List<Integer>> cut(Map<Chunk, List<Integer>> holders, int ranks) {
        long total = holders.keySet().stream().mapToLong(Chunk::bytes).sum();
        long share = Math.max(MIN_CUT_BYTES, total / ranks / 2);
        Map<Chunk, List<Integer>> pieces = new LinkedHashMap<>();
        holders.forEach((chunk, own) -> {
            long rows = chunk.shape().isEmpty() ? 1 : chunk.shape().getFirst();
            long count = Math.min(Math.min(own.size(), rows), Math.ceilDiv(chunk.bytes(), share));
            if (count < 2) {
                pieces.put(chunk, own);
                return;
            }
            for (int i = 0; i < count; i++) {
                long from = rows * i / count;
                Chunk piece = chunk.rows(from, rows * (i + 1) / count - from);
                pieces.put(piece, List.copyOf(own));
            }
        });
        return pieces;
    }

    private static List<List<List<Chunk>>> assign(Map<Chunk, List<Integer>> holders, int ranks) {
        long[] load = new long[ranks];
        List<Map<String, List<Chunk>>> writes = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            writes.add(new TreeMap<>());
        }
        List<Chunk> largestFirst = new ArrayList<>(holders.keySet());
        largestFirst.sort(Comparator.comparingLong(Chunk::bytes)
                .reversed()
                .thenComparing(Chunk::name)
                .thenComparing(chunk -> chunk.offsets().toString()));
        for (Chunk chunk : largestFirst) {
            int writer = holders.getOrDefault(chunk, List.of()).stream()
                    .min(Comparator.<Integer>comparingInt(rank ->
                                    chunksOf(chunk.name(), writes.get(rank)).size())
                            .thenComparingLong(rank -> load[rank]))
                    .orElseThrow();
            load[writer] += chunk.bytes();
            writes.get(writer)
                    .computeIfAbsent(chunk.name(), _ -> new ArrayList<>())
                    .add(chunk);
        }
        return writes.stream().map(own -> files(own.values())).toList();
    }

    private static List<Chunk> chunksOf(String name, Map<String, List<Chunk>> writes) {
        return writes.getOrDefault(name, List.of());
    }

    /** A file has at most one chunk of a name: its format gives each tensor one place. */
    private static List<List<Chunk>> files(Collection<List<Chunk>> chunksOfNames) {
        List<List<Chunk>> files = new ArrayList<>();
        for (List<Chunk> chunks : chunksOfNames) {
            for (int i = 0; i < chunks.size(); i++) {
                if (i == files.size()) {
                    files.add(new ArrayList<>());
                }
                files.get(i).add(chunks.get(i));
            }
        }
        return files;
    }
}
