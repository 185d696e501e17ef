package io.jrun.comm.cuda;

import io.jrun.comm.Device;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;

/**
 * The NVIDIA GPUs that a process sees.
 *
 * @param count number of GPUs
 */
public record VisibleGpus(int count) {
    /** Words for no GPU: NoDevFiles is Slurm's, none and void are the container toolkit's. */
    private static final Set<String> NOTHING = Set.of("NoDevFiles", "none", "void");

    private static final Path DEVICE_FILES = Path.of("/dev");

    /** Counts the GPUs by CUDA_VISIBLE_DEVICES, or the device files of this machine without the variable. */
    public static VisibleGpus of(Map<String, String> environment) {
        return of(environment, DEVICE_FILES);
    }

    /**
     * The same on a machine with other device files.
     *
     * @param deviceFiles in place of /dev
     */
    public static VisibleGpus of(Map<String, String> environment, Path deviceFiles) {
        String chosen = environment.get("CUDA_VISIBLE_DEVICES");
        return new VisibleGpus(chosen == null ? files(deviceFiles) : named(chosen));
    }

    /** Applies CUDA's rule: the list ends at the first entry that names no device. */
    private static int named(String list) {
        int count = 0;
        for (String entry : list.split(",", -1)) {
            String device = entry.strip();
            if (device.isEmpty() || device.startsWith("-") || NOTHING.contains(device)) {
                break;
            }
            count++;
        }
        return count;
    }

    /** The device files of GPUs are nvidia0, nvidia1 and so on. nvidiactl is none. */
    private static int files(Path folder) {
        int count = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "nvidia[0-9]*")) {
            for (Path _ : files) {
                count++;
            }
        } catch (IOException | DirectoryIteratorException e) {
            return 0;
        }
        return count;
    }

    /** The device of the rank with this number on its node. */
    public Device deviceOf(int localRank) {
        return count == 0 ? Device.CPU : Device.cuda(localRank % count);
    }
}
