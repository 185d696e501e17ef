package io.jrun.train.ddp;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.step.Step;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Tensor;

/** Arguments: ranks, first step, last step. Trains and prints by how many KiB this process grew between the two. */
final class SoakMain {
    private static final int CONTEXT = 16;
    private static final long PAGE_KIB = 4;

    private SoakMain() {}

    public static void main(String[] args) {
        int ranks = Integer.parseInt(args[0]);
        int first = Integer.parseInt(args[1]);
        int last = Integer.parseInt(args[2]);
        Libtorch.setThreads(1);
        LocalWorld.run(ranks, world -> train(world, first, last));
    }

    private static void train(World world, int first, int last) {
        TinyGpt module = new TinyGpt(1, 32, CONTEXT);
        long before = 0;
        try (var model =
                new DistributedDataParallel<>(module, world.group(), DdpOptions.DEFAULT.withBuckets(4000, 20_000))) {
            AdamW optimizer = new AdamW(module.parameters(), new AdamWOptions(1e-3));
            for (int current = 0; current < last; current++) {
                if (current == first) {
                    before = residentKib(world);
                }
                try (Step step = model.step()) {
                    optimizer.zero_grad();
                    Tensor loss =
                            module.loss(TinyGpt.tokens(current, 2, CONTEXT), TinyGpt.tokens(current + 1L, 2, CONTEXT));
                    step.backward(loss);
                    optimizer.step();
                }
            }
            long grown = residentKib(world) - before;
            if (world.rank() == 0) {
                System.out.println("grown KiB: " + grown);
            }
        }
    }

    /** Measured while no rank is inside a step. */
    private static long residentKib(World world) {
        world.group().barrier();
        try {
            String[] pages = Files.readString(Path.of("/proc/self/statm")).split(" ", 3);
            return Long.parseLong(pages[1]) * PAGE_KIB;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            world.group().barrier();
        }
    }
}
