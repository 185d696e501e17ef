package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * A GPU of this machine, from the files of NVIDIA's driver.
 *
 * @param busId PCI address in the form of /sys, such as {@code 0000:1b:00.0}
 * @param model such as {@code NVIDIA H100 80GB HBM3}
 * @param uuid such as {@code GPU-8f3a...}; empty if the driver does not know it yet
 * @param minor the number in /dev/nvidia0; -1 if unknown
 */
public record PciGpu(String busId, String model, String uuid, int minor) {
    private static final String FOLDER = "proc/driver/nvidia/gpus";

    /** The GPUs that this process may open, by bus address as CUDA and NVML count them; empty if unknown. */
    public static List<PciGpu> probe(Path root) {
        List<PciGpu> gpus = new ArrayList<>();
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(root.resolve(FOLDER))) {
            for (Path folder : folders) {
                PciGpu gpu = read(folder);
                if (gpu.minor < 0 || Files.isReadable(root.resolve("dev/nvidia" + gpu.minor))) {
                    gpus.add(gpu);
                }
            }
        } catch (IOException e) {
            return List.of(); // no driver, or a container without these files
        }
        gpus.sort(Comparator.comparing(PciGpu::busId));
        return gpus;
    }

    private static PciGpu read(Path folder) throws IOException {
        String busId = String.valueOf(folder.getFileName());
        String model = "";
        String uuid = "";
        int minor = -1;
        for (String line : Files.readAllLines(folder.resolve("information"))) {
            int colon = line.indexOf(':');
            String value = line.substring(colon + 1).strip();
            switch (line.substring(0, Math.max(colon, 0)).strip()) {
                case "Model" -> model = value;
                case "GPU UUID" -> uuid = value.contains("?") ? "" : value;
                case "Bus Location" -> busId = value;
                case "Device Minor" -> minor = value.matches("[0-9]{1,4}") ? Integer.parseInt(value) : -1;
                default -> {} // the other facts are in NVML too
            }
        }
        return new PciGpu(busId.toLowerCase(Locale.ROOT), model, uuid, minor);
    }
}
