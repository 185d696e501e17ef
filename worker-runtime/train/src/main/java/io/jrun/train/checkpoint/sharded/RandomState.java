package io.jrun.train.checkpoint.sharded;

import io.jrun.train.Libtorch;
import java.util.Locale;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The random numbers of one rank: libtorch's default generator of the CPU, which dropout uses, and a generator of the
 * program in Java. Each rank has a state of its own, so a job with more ranks has ranks without a saved state. One rank
 * per process: libtorch's generator belongs to the process.
 */
public final class RandomState {
    private RandomState() {}

    /** Adds copies of this rank's generators to a state that is saved before the innermost PointerScope ends. */
    public static void save(StateDict state, int rank, SplitMix64Random program) {
        Libtorch.load();
        try (Generator generator = torch.getDefaultCPUGenerator()) {
            state.put(torchName(rank), generator.get_state());
        }
        state.put(javaName(rank), Tensor.create(program.state()));
    }

    /**
     * Gives this rank's generators their saved states. Returns false, and changes nothing, if the checkpoint has no
     * state of this rank.
     */
    public static boolean restore(SavedCheckpoint saved, int rank, SplitMix64Random program) {
        if (!saved.tensors().containsKey(torchName(rank))) {
            return false;
        }
        try (Tensor torchState = saved.readOne(torchName(rank));
                Tensor javaState = saved.readOne(javaName(rank));
                Generator generator = torch.getDefaultCPUGenerator()) {
            generator.set_state(torchState);
            program.restore(javaState.item_long());
        }
        return true;
    }

    private static String torchName(int rank) {
        return String.format(Locale.ROOT, "random.rank%05d.torch", rank);
    }

    private static String javaName(int rank) {
        return String.format(Locale.ROOT, "random.rank%05d.java", rank);
    }
}
