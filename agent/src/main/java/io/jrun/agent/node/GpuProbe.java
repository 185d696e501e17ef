package io.jrun.agent.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds the NVIDIA devices that a program on this machine would see. */
final class GpuProbe {
    private static final long NVIDIA_SMI_SECONDS = 10;

    private final Path root;
    private final Map<String, String> environment;

    GpuProbe(Path root, Map<String, String> environment) {
        this.root = root;
        this.environment = environment;
    }

    List<String> visible() {
        return SlurmStep.gpus(environment).orElseGet(this::visibleDevices);
    }

    private List<String> visibleDevices() {
        List<String> devices = deviceFiles();
        String inContainer = environment.getOrDefault("NVIDIA_VISIBLE_DEVICES", "");
        if (devices.isEmpty() || inContainer.equals("none") || inContainer.equals("void")) {
            return List.of();
        }
        String chosen = environment.get("CUDA_VISIBLE_DEVICES");
        if (chosen != null) {
            return chosen(chosen);
        }
        List<String> listed = listed();
        return listed.isEmpty() ? devices : listed;
    }

    /** Applies CUDA's rule: the list ends at the first entry that names no device. */
    static List<String> chosen(String value) {
        List<String> devices = new ArrayList<>();
        for (String entry : value.split(",", -1)) {
            String device = entry.strip();
            if (device.isEmpty() || device.startsWith("-")) {
                break;
            }
            devices.add(device);
        }
        return devices;
    }

    /** Reads the output of {@code nvidia-smi -L}: indices, or UUIDs of MIG slices if a GPU has slices. */
    static List<String> parseListing(List<String> lines) {
        Pattern gpuLine = Pattern.compile("GPU (\\d+):.*");
        Pattern migLine = Pattern.compile("\\s+MIG .*\\(UUID: (MIG-[^)]+)\\).*");
        List<String> devices = new ArrayList<>();
        String wholeGpu = "";
        for (String line : lines) {
            Matcher gpu = gpuLine.matcher(line);
            Matcher mig = migLine.matcher(line);
            if (gpu.matches()) {
                wholeGpu = gpu.group(1);
                devices.add(wholeGpu);
            } else if (mig.matches()) {
                devices.remove(wholeGpu);
                devices.add(mig.group(1));
            }
        }
        return devices;
    }

    private List<String> deviceFiles() {
        List<String> devices = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(root.resolve("dev"), GpuProbe::isDevice)) {
            for (Path _ : files) {
                devices.add(Integer.toString(devices.size())); // CUDA numbers the visible devices from 0
            }
        } catch (IOException e) {
            return List.of();
        }
        return devices;
    }

    /** Whether the file is a device, such as nvidia0, and not nvidiactl. */
    private static boolean isDevice(Path file) {
        String name = String.valueOf(file.getFileName());
        return name.startsWith("nvidia")
                && name.length() > "nvidia".length()
                && Character.isDigit(name.charAt("nvidia".length()));
    }

    private static List<String> listed() {
        try {
            Process process = new ProcessBuilder("nvidia-smi", "-L")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            process.getOutputStream().close();
            if (!process.waitFor(NVIDIA_SMI_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly(); // the driver hangs; use the device files
                return List.of();
            }
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return parseListing(output.lines().toList());
        } catch (IOException e) {
            return List.of();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }
}
