package io.jrun.agent.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * An open NVML. Each method calls the driver, and a driver that hangs does not return: {@link BoundedNvml} has the
 * deadlines. Confined to one thread.
 */
final class Nvml implements AutoCloseable {
    private static final int TEXT_BYTES = 96;
    private static final int UNKNOWN = -1;

    /** nvmlPciInfo_t: the bus address as text begins at byte 36. */
    private static final int PCI_BYTES = 68;

    private static final int PCI_BUS_ID = 36;

    /** nvmlMemory_t: total, free, used. */
    private static final int MEMORY_BYTES = 24;

    private static final int GPU_SENSOR = 0;
    private static final int NVLINK_CAPABILITY = 2;

    private final NvmlLibrary library;

    private Nvml(NvmlLibrary library) {
        this.library = library;
    }

    static Nvml open(String library) throws NvmlException {
        Nvml nvml = new Nvml(NvmlLibrary.open(library));
        int code = nvml.library.init();
        if (code != NvmlLibrary.OK) {
            throw new NvmlException("nvmlInit_v2: " + nvml.library.message(code));
        }
        return nvml;
    }

    /** Releases the GPUs. An open NVML keeps administrators from the reset of a GPU. */
    @Override
    public void close() {
        int _ = library.shutdown();
    }

    /** The version of the driver; empty if unknown. */
    String driver() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(TEXT_BYTES);
            return library.systemText("nvmlSystemGetDriverVersion", text) == NvmlLibrary.OK ? text.getString(0) : "";
        }
    }

    /** The GPUs that this process may open. */
    List<NvmlGpu> gpus() {
        try (Arena arena = Arena.ofConfined()) {
            List<NvmlGpu> gpus = new ArrayList<>();
            for (MemorySegment device : devices(arena)) {
                gpus.add(new NvmlGpu(
                        gpus.size(),
                        text("nvmlDeviceGetName", device, arena),
                        text("nvmlDeviceGetUUID", device, arena),
                        busId(device, arena),
                        memory(device, arena)[0],
                        onOrOff(number("nvmlDeviceGetPersistenceMode", device, arena)),
                        onOrOff(migMode(device, arena)),
                        slices(device, arena).stream()
                                .map(slice -> text("nvmlDeviceGetUUID", slice, arena))
                                .toList()));
            }
            return gpus;
        }
    }

    /** The load of the GPUs and MIG slices that {@code entries} name, as in CUDA_VISIBLE_DEVICES. */
    List<NvmlReading> read(List<String> entries) {
        try (Arena arena = Arena.ofConfined()) {
            List<MemorySegment> devices = devices(arena);
            List<NvmlReading> readings = new ArrayList<>();
            for (String entry : entries) {
                device(entry, devices, arena).ifPresent(device -> readings.add(read(entry, device, arena)));
            }
            return readings;
        }
    }

    /** The paths between all pairs of GPUs. */
    List<NvmlLink> links() {
        try (Arena arena = Arena.ofConfined()) {
            List<MemorySegment> devices = devices(arena);
            List<NvmlLink> links = new ArrayList<>();
            for (int first = 0; first < devices.size(); first++) {
                for (int second = first + 1; second < devices.size(); second++) {
                    String path = path(devices.get(first), devices.get(second), arena);
                    if (!path.isEmpty()) {
                        links.add(new NvmlLink(first, second, path));
                    }
                }
            }
            return links;
        }
    }

    private NvmlReading read(String entry, MemorySegment device, Arena arena) {
        long[] memory = memory(device, arena);
        MemorySegment utilization = arena.allocate(2L * Integer.BYTES, Integer.BYTES); // of the cores, of the memory
        int code = library.get("nvmlDeviceGetUtilizationRates", device, utilization);
        MemorySegment temperature = arena.allocate(JAVA_INT);
        int sensor = library.getAt("nvmlDeviceGetTemperature", device, GPU_SENSOR, temperature);
        return new NvmlReading(
                entry,
                text("nvmlDeviceGetName", device, arena),
                memory[1],
                memory[0],
                code == NvmlLibrary.OK ? utilization.get(JAVA_INT, 0) : UNKNOWN,
                sensor == NvmlLibrary.OK ? temperature.get(JAVA_INT, 0) : UNKNOWN,
                number("nvmlDeviceGetPowerUsage", device, arena));
    }

    private List<MemorySegment> devices(Arena arena) {
        MemorySegment count = arena.allocate(JAVA_INT);
        List<MemorySegment> devices = new ArrayList<>();
        if (library.count(count) == NvmlLibrary.OK) {
            for (int index = 0; index < count.get(JAVA_INT, 0); index++) {
                MemorySegment handle = arena.allocate(ADDRESS);
                if (library.handle(index, handle) == NvmlLibrary.OK) { // else a cgroup hides the GPU
                    devices.add(handle.get(ADDRESS, 0));
                }
            }
        }
        return devices;
    }

    private Optional<MemorySegment> device(String entry, List<MemorySegment> devices, Arena arena) {
        if (Character.isDigit(entry.charAt(0))) {
            int index = Integer.parseInt(entry);
            return index < devices.size() ? Optional.of(devices.get(index)) : Optional.empty();
        }
        List<MemorySegment> all = new ArrayList<>(devices);
        devices.forEach(device -> all.addAll(slices(device, arena)));
        String beginning = entry.toLowerCase(Locale.ROOT);
        return all.stream()
                .filter(device -> text("nvmlDeviceGetUUID", device, arena)
                        .toLowerCase(Locale.ROOT)
                        .startsWith(beginning))
                .findFirst();
    }

    private List<MemorySegment> slices(MemorySegment device, Arena arena) {
        List<MemorySegment> slices = new ArrayList<>();
        if (migMode(device, arena) == 1) {
            int most = number("nvmlDeviceGetMaxMigDeviceCount", device, arena);
            for (int index = 0; index < most; index++) {
                MemorySegment handle = arena.allocate(ADDRESS);
                if (library.getAt("nvmlDeviceGetMigDeviceHandleByIndex", device, index, handle) == NvmlLibrary.OK) {
                    slices.add(handle.get(ADDRESS, 0));
                }
            }
        }
        return slices;
    }

    private int migMode(MemorySegment device, Arena arena) {
        MemorySegment current = arena.allocate(JAVA_INT);
        MemorySegment pending = arena.allocate(JAVA_INT);
        return library.getTwo("nvmlDeviceGetMigMode", device, current, pending) == NvmlLibrary.OK
                ? current.get(JAVA_INT, 0)
                : UNKNOWN;
    }

    private String busId(MemorySegment device, Arena arena) {
        MemorySegment info = arena.allocate(PCI_BYTES, Integer.BYTES);
        if (library.get("nvmlDeviceGetPciInfo_v3", device, info) != NvmlLibrary.OK) {
            return "";
        }
        // NVML writes eight digits for the domain, /sys at least four.
        return info.getString(PCI_BUS_ID).toLowerCase(Locale.ROOT).replaceFirst("^0*(?=[0-9a-f]{4,}:)", "");
    }

    /** Total and used bytes; -1 if unknown. */
    private long[] memory(MemorySegment device, Arena arena) {
        MemorySegment memory = arena.allocate(MEMORY_BYTES, Long.BYTES);
        return library.get("nvmlDeviceGetMemoryInfo", device, memory) == NvmlLibrary.OK
                ? new long[] {memory.getAtIndex(JAVA_LONG, 0), memory.getAtIndex(JAVA_LONG, 2)}
                : new long[] {UNKNOWN, UNKNOWN};
    }

    private String path(MemorySegment device, MemorySegment other, Arena arena) {
        MemorySegment status = arena.allocate(JAVA_INT);
        if (library.getBetween("nvmlDeviceGetP2PStatus", device, other, NVLINK_CAPABILITY, status) == NvmlLibrary.OK
                && status.get(JAVA_INT, 0) == 0) {
            return "NVLink";
        }
        int code = library.getTwo("nvmlDeviceGetTopologyCommonAncestor", device, other, status);
        return code == NvmlLibrary.OK
                ? switch (status.get(JAVA_INT, 0)) {
                    case 0, 10 -> "PIX";
                    case 20 -> "PXB";
                    case 30 -> "PHB";
                    case 40 -> "NODE";
                    default -> "SYS";
                }
                : "";
    }

    private int number(String function, MemorySegment device, Arena arena) {
        MemorySegment result = arena.allocate(JAVA_INT);
        return library.get(function, device, result) == NvmlLibrary.OK ? result.get(JAVA_INT, 0) : UNKNOWN;
    }

    private String text(String function, MemorySegment device, Arena arena) {
        MemorySegment text = arena.allocate(TEXT_BYTES);
        return library.text(function, device, text) == NvmlLibrary.OK ? text.getString(0) : "";
    }

    private static String onOrOff(int mode) {
        return mode == UNKNOWN ? "" : mode == 0 ? "off" : "on";
    }
}
