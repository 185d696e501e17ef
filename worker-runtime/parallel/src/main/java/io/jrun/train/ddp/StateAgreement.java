package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.reducer.ReductionException;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;

/**
 * Checks that all ranks have built the same model, before tensors are exchanged by position. If the models differ,
 * every rank throws the same message. The check costs one small collective for lengths and digests, and a second one
 * for the lists if the digests differ. The models must be on devices of one type; each rank may have a GPU of its own.
 */
final class StateAgreement {
    private static final int DIGEST_LONGS = 4;

    private StateAgreement() {}

    /**
     * @throws ReductionException if the models differ; the message names the first tensor that differs, the ranks, and the
     *     tensors of both ranks
     */
    static void verify(ProcessGroup group, Map<String, Tensor> state) {
        byte[] mine = describe(state).getBytes(StandardCharsets.UTF_8);
        long[] summary = new long[1 + DIGEST_LONGS];
        summary[0] = mine.length;
        System.arraycopy(digest(mine), 0, summary, 1, DIGEST_LONGS);
        long[] all = new long[summary.length * group.size()];
        group.allGather(MemorySegment.ofArray(summary), MemorySegment.ofArray(all), DataType.I64, summary.length);
        // Every rank compares all ranks with rank 0, so all ranks have the same result.
        if (!allEqualToFirst(all, summary.length)) {
            throw new ReductionException(explain(group, exchange(group, mine, all, summary.length)));
        }
    }

    private static boolean allEqualToFirst(long[] all, int stride) {
        for (int i = stride; i < all.length; i++) {
            if (all[i] != all[i % stride]) {
                return false;
            }
        }
        return true;
    }

    private static List<List<String>> exchange(ProcessGroup group, byte[] mine, long[] all, int stride) {
        int longest = 0;
        for (int rank = 0; rank < group.size(); rank++) {
            longest = Math.max(longest, Math.toIntExact(all[rank * stride]));
        }
        int words = Math.ceilDiv(longest, Long.BYTES);
        byte[] padded = Arrays.copyOf(mine, words * Long.BYTES);
        byte[] gathered = new byte[padded.length * group.size()];
        group.allGather(MemorySegment.ofArray(padded), MemorySegment.ofArray(gathered), DataType.I64, words);
        List<List<String>> descriptions = new ArrayList<>();
        for (int rank = 0; rank < group.size(); rank++) {
            int length = Math.toIntExact(all[rank * stride]);
            String text = new String(gathered, rank * padded.length, length, StandardCharsets.UTF_8);
            descriptions.add(text.lines().toList());
        }
        return descriptions;
    }

    private static String explain(ProcessGroup group, List<List<String>> descriptions) {
        List<String> first = descriptions.getFirst();
        for (int rank = 1; rank < descriptions.size(); rank++) {
            Optional<String> difference = difference(
                    "rank " + group.worldRank(0), first, "rank " + group.worldRank(rank), descriptions.get(rank));
            if (difference.isPresent()) {
                return "the ranks' models differ: " + difference.get()
                        + ". Build the model from the same configuration on every rank.";
            }
        }
        throw new IllegalStateException("digests differ but descriptions do not");
    }

    private static Optional<String> difference(String who, List<String> first, String otherWho, List<String> other) {
        for (int i = 0; i < Math.max(first.size(), other.size()); i++) {
            String here = i < first.size() ? first.get(i) : "nothing more";
            String there = i < other.size() ? other.get(i) : "nothing more";
            if (!here.equals(there)) {
                return Optional.of(
                        "tensor " + (i + 1) + " is " + here + " on " + who + " but " + there + " on " + otherWho);
            }
        }
        return Optional.empty();
    }

    private static String describe(Map<String, Tensor> state) {
        StringBuilder out = new StringBuilder();
        state.forEach((name, tensor) -> out.append('\'')
                .append(name)
                .append("' ")
                .append(TensorMemory.form(tensor))
                .append(
                        TensorMemory.device(tensor).isCpu()
                                ? ""
                                : " on " + TensorMemory.device(tensor).type())
                .append(tensor.requires_grad() ? "" : " (not trained)")
                .append('\n'));
        return out.toString();
    }

    private static long[] digest(byte[] text) {
        try {
            long[] longs = new long[DIGEST_LONGS];
            ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(text))
                    .asLongBuffer()
                    .get(longs);
            return longs;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
