package io.jrun.train.device;

import io.jrun.train.tensor.DeviceWaits;
import java.util.List;
import org.bytedeco.pytorch.Generator;
import org.jspecify.annotations.Nullable;

/**
 * The graph of a simulated GPU, on which libtorch computes on the CPU: a replay runs the code again. It differs from a
 * graph in two points: the recorded code runs a second time on the host, and it may read new numbers there.
 */
public final class RepeatedWork implements StepGraph {
    private static int replays;

    private @Nullable Runnable recorded;

    /** Puts such graphs on all devices of this process. */
    public static void install() {
        StepGraphs.setMaker(_ -> new RepeatedWork());
    }

    /** The replays of this process. */
    public static int replays() {
        return replays;
    }

    @Override
    public OpenStream onStream() {
        return () -> {};
    }

    @Override
    public void record(List<Generator> generators, Runnable work) {
        recorded = work;
    }

    @Override
    public void replay() {
        Runnable work = recorded;
        if (work == null) {
            throw new IllegalStateException("nothing is recorded");
        }
        try (DeviceWaits.Refusal _ = DeviceWaits.refuse()) {
            work.run();
        } catch (RuntimeException failure) {
            throw GraphCaptureException.of(failure);
        }
        replays++;
    }

    @Override
    public void close() {}
}
