package io.jrun.agent.nvml;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The PCI addresses of the GPUs with MIG slices, by the names of the slices. Remembers what NVML has said. Thread-safe. */
public final class SliceAddresses {
    private static final Map<String, String> KNOWN = new HashMap<>();

    private SliceAddresses() {}

    /** The address of a slice; empty if NVML does not know the slice or does not answer. May wait some seconds. */
    public static Optional<String> find(String slice) {
        String name = slice.toLowerCase(Locale.ROOT);
        synchronized (KNOWN) {
            String address = KNOWN.computeIfAbsent(name, SliceAddresses::read);
            return address.isEmpty() ? Optional.empty() : Optional.of(address);
        }
    }

    private static String read(String name) {
        Optional<BoundedNvml> here = BoundedNvml.here();
        if (here.isEmpty() || !name.startsWith("mig-")) {
            return "";
        }
        try (BoundedNvml nvml = here.get()) {
            for (NvmlGpu gpu : nvml.gpus()) {
                for (String slice : gpu.slices()) {
                    if (slice.toLowerCase(Locale.ROOT).startsWith(name)) {
                        return gpu.busId();
                    }
                }
            }
        } catch (NvmlException e) {
            return ""; // the caller reports the unknown address
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return "";
    }
}
