package io.jrun.agent.node;

import io.jrun.agent.nvml.BoundedNvml;
import io.jrun.agent.nvml.NvmlException;
import io.jrun.agent.nvml.NvmlGpu;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/** Finds the NVIDIA devices that a program on this machine would see. */
final class GpuProbe {
    private static final String CAPABILITIES = "proc/driver/nvidia/capabilities";
    private static final String VISIBLE = "CUDA_VISIBLE_DEVICES";
    private static final String IN_CONTAINER = "NVIDIA_VISIBLE_DEVICES";

    private final Path root;
    private final Map<String, String> environment;

    GpuProbe(Path root, Map<String, String> environment) {
        this.root = root;
        this.environment = environment;
    }

    /**
     * The GPUs as a worker can name them in CUDA_VISIBLE_DEVICES. The first variable that names GPUs decides:
     * CUDA_VISIBLE_DEVICES, then Slurm's or the container's variables if this process may open more GPUs than these
     * variables name. Otherwise the GPUs that this process may open count from 0.
     *
     * @throws GpuListException if the deciding variable cannot be used
     */
    List<String> visible() throws GpuListException {
        List<String> devices = deviceFiles();
        int allocated = SlurmStep.gpuCount(environment);
        String inContainer = environment.getOrDefault(IN_CONTAINER, "");
        if (allocated == 0 && (devices.isEmpty() || inContainer.equals("none") || inContainer.equals("void"))) {
            return List.of();
        }
        String chosen = environment.get(VISIBLE);
        if (chosen != null) {
            List<String> entries = GpuList.parse(VISIBLE, chosen);
            if (allocated == 0) { // Slurm's list may have the numbers of the whole machine
                GpuList.check(VISIBLE, entries, devices.size(), uuids());
            }
            return entries;
        }
        if (allocated > 0) {
            List<String> named = SlurmStep.gpuNames(environment);
            return devices.size() > allocated && named.size() == allocated ? named : devicesFromZero(allocated);
        }
        if (GpuList.names(inContainer)) {
            List<String> entries = GpuList.parse(IN_CONTAINER, inContainer);
            if (entries.size() < devices.size()) { // the container shows more GPUs than it was given
                return entries;
            }
        }
        return withSlices(devices);
    }

    private List<String> uuids() {
        List<String> uuids = PciGpu.probe(root).stream().map(PciGpu::uuid).toList();
        return uuids.contains("") ? List.of() : uuids;
    }

    private static List<String> devicesFromZero(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).toList();
    }

    /** The GPUs that this process may open. A cgroup of a job refuses the others, and CUDA does not count them. */
    private List<String> deviceFiles() {
        int count = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(root.resolve("dev"), "nvidia[0-9]*")) {
            for (Path file : files) {
                count += Files.isReadable(file) ? 1 : 0;
            }
        } catch (IOException e) {
            return List.of();
        }
        return devicesFromZero(count);
    }

    /** Replaces each GPU that has MIG slices by its slices, because CUDA cannot use such a GPU as a whole. */
    private List<String> withSlices(List<String> devices) {
        Optional<BoundedNvml> here = mayHaveSlices() ? BoundedNvml.here() : Optional.empty();
        if (here.isEmpty()) {
            return devices;
        }
        try (BoundedNvml nvml = here.get()) {
            return entries(nvml.gpus());
        } catch (NvmlException e) {
            return devices; // jobs report the failure with the metrics of the GPUs
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return devices;
        }
    }

    static List<String> entries(List<NvmlGpu> gpus) {
        List<String> entries = new ArrayList<>();
        for (NvmlGpu gpu : gpus) {
            if (gpu.slices().isEmpty()) {
                entries.add(Integer.toString(gpu.index()));
            } else {
                entries.addAll(gpu.slices());
            }
        }
        return entries;
    }

    /** Whether the driver lists MIG slices, or an older driver or a container does not say. */
    private boolean mayHaveSlices() {
        try (DirectoryStream<Path> gpus = Files.newDirectoryStream(root.resolve(CAPABILITIES), "gpu*")) {
            for (Path gpu : gpus) {
                Path mig = gpu.resolve("mig");
                if (Files.isDirectory(mig)) {
                    try (DirectoryStream<Path> slices = Files.newDirectoryStream(mig, "gi*")) {
                        if (slices.iterator().hasNext()) {
                            return true;
                        }
                    }
                }
            }
            return false;
        } catch (IOException e) {
            return true;
        }
    }
}
