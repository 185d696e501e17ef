package io.jrun.train.weights;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.LinearImpl;

/** Loads a file of weights on all ranks. Start: {@code jrun --nproc-per-node=2 WeightsExample.java FILE.safetensors}. */
public final class WeightsExample {
    private WeightsExample() {}

    /** Prints the bytes that each rank has read: the other ranks get the weights from rank 0. */
    public static void main(String[] args) {
        try (World world = Distributed.init()) {
            LinearImpl model = new LinearImpl(4, 2);
            System.out.println("rank " + world.rank() + " has read " + load(world, Path.of(args[0]), model) + " bytes");
        }
    }

    /** The tensor {@code classifier.kernel} of the file becomes {@code weight}; those of the head are not needed. */
    static long load(World world, Path file, LinearImpl model) {
        NameMapping names = NameMapping.of(Map.of("^classifier\\.", "", "kernel$", "weight"), List.of("head\\..*"));
        return WeightLoader.load(model, file, names, world, WeightReaders.RANK_0);
    }
}
