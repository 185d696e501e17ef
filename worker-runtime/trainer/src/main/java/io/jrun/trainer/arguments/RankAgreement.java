package io.jrun.trainer.arguments;

import io.jrun.comm.Codec;
import io.jrun.comm.CommException;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.file.ControlCharacters;
import java.util.List;

/** Decisions and messages that the ranks of a job make together. Stateless. */
public final class RankAgreement {
    private static final String PRINTED = "jrun.examples/printed/";

    private RankAgreement() {}

    /**
     * Runs a check on each rank. If the check fails on one rank, it fails on all ranks. Collective.
     *
     * @throws InvalidArgumentException on every rank, with the message of the first rank that failed
     */
    public static void check(ProcessGroup group, Runnable check) {
        String own = "";
        try {
            check.run();
        } catch (InvalidArgumentException e) {
            own = String.valueOf(e.getMessage());
        }
        List<String> all = group.objects().allGather(own, Codec.STRING);
        all.stream().filter(message -> !message.isEmpty()).findFirst().ifPresent(message -> {
            throw new InvalidArgumentException(message);
        });
    }

    /**
     * Prints a line on stderr, unless another rank of the job has printed the same line. Does not wait for other ranks.
     */
    public static void printOnce(World world, String text) {
        String line = ControlCharacters.replaced(text);
        boolean isFirst;
        try {
            isFirst = world.store().add(PRINTED + world.restartCount() + "/" + line, 1) == 1;
        } catch (CommException _) {
            isFirst = true; // the job ends, and the store with it
        }
        if (isFirst) {
            System.err.println(line);
        }
    }
}
