package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The location and the times at which a program saves.
 *
 * @param location a folder or {@code s3://bucket/prefix}; empty for no checkpoints
 * @param every steps between checkpoints; 0 for one at the end only
 * @param isAsync whether the training goes on while a checkpoint is written
 * @param retention the checkpoints that stay
 * @param resume whether the training goes on from a checkpoint, if there is one
 * @param resumeStep the checkpoint of --resume=STEP; empty for the newest
 * @param out safetensors file of the parameters at the end
 * @param checkReplicas steps between comparisons of the ranks' copies; 0 for none, also before a checkpoint
 */
public record CheckpointOptions(
        Optional<String> location,
        int every,
        boolean isAsync,
        Retention retention,
        boolean resume,
        OptionalLong resumeStep,
        Optional<Path> out,
        int checkReplicas) {
    private static final int CHECK_REPLICAS = 100;

    /** Without a value the newest checkpoint, else the one of a step. */
    private static final String RESUME = "--resume";

    static final List<String> VALUED = List.of(
            "--checkpoint", "--checkpoint-every", "--keep-last", "--keep-every", "--out", "--check-replicas", RESUME);
    static final List<String> FLAGS = List.of("--checkpoint-async", RESUME);

    static CheckpointOptions of(CommandLineArguments given) {
        CheckpointOptions options = new CheckpointOptions(
                given.text("--checkpoint"),
                given.number("--checkpoint-every", 0, 0),
                given.has("--checkpoint-async"),
                new Retention(
                        given.number("--keep-last", Retention.DEFAULT.keepLast(), 1),
                        given.number("--keep-every", 0, 0)),
                given.has(RESUME),
                resumeStep(given),
                given.text("--out").map(Path::of),
                given.number("--check-replicas", CHECK_REPLICAS, 0));
        if (options.location.isEmpty() && (options.resume || options.every > 0)) {
            throw new InvalidArgumentException("--resume and --checkpoint-every need --checkpoint=LOCATION");
        }
        return options;
    }

    private static OptionalLong resumeStep(CommandLineArguments given) {
        return given.text(RESUME).filter(text -> !text.isEmpty()).isPresent()
                ? OptionalLong.of(given.longNumber(RESUME, 0, 1))
                : OptionalLong.empty();
    }

    /** Whether --checkpoint-every asks for a checkpoint after {@code step}. */
    boolean isDue(long step) {
        return every > 0 && step % every == 0;
    }
}
