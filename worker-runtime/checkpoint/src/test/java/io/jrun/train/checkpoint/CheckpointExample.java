package io.jrun.train.checkpoint;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.StateDict;
import org.bytedeco.pytorch.LinearImpl;

/** Goes on from the newest checkpoint of a folder. Start: {@code jrun CheckpointExample.java FOLDER}. */
public final class CheckpointExample {
    private CheckpointExample() {}

    /** Saves a layer once more with each call. */
    public static void main(String[] args) {
        try (World world = Distributed.init()) {
            LinearImpl model = new LinearImpl(4, 4);
            System.out.println("this is step " + next(world, args[0], model));
        }
    }

    /** Loads the newest checkpoint, if there is one, and saves the next one. All ranks call this together. */
    static long next(World world, String folder, LinearImpl model) {
        try (var checkpoints = CheckpointManager.open(folder, world.group(), world.runId(), Retention.DEFAULT)) {
            long step = 0;
            var latest = checkpoints.latest();
            if (latest.isPresent()) {
                ModelState.load(model, checkpoints.open(latest.getAsLong()).read("model."));
                step = latest.getAsLong();
            }
            checkpoints.save(step + 1, new StateDict().putAll("model.", ModelState.of(model)));
            return step + 1;
        }
    }
}
