package io.jrun.trainer.device;

import io.jrun.comm.World;
import io.jrun.train.storage.FileObjectReader;
import io.jrun.trainer.arguments.RankAgreement;

/** Prints the way in which weights and checkpoints were read into the memory of GPUs. Stateless. */
public final class FileReadNotes {
    private FileReadNotes() {}

    /** Prints the lines since the last call, each once for the job. Prints nothing if all tensors are on CPUs. */
    public static void print(World world) {
        FileObjectReader.takeNotes().forEach(note -> RankAgreement.printOnce(world, "note: " + note));
    }
}
