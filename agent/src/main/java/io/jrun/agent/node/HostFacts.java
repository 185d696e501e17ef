package io.jrun.agent.node;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Facts of this machine for {@code jrun doctor}, besides the resources of {@link NodeProbe}. Stateless. */
public final class HostFacts {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Path GPU_DRIVER = Path.of("/proc/driver/nvidia/version");
    private static final Path PORT_RANGE = Path.of("/proc/sys/net/ipv4/ip_local_port_range");
    private static final Path RDMA_DEVICES = Path.of("/sys/class/infiniband");

    /** A line of /proc/self/limits: columns for name, soft limit and hard limit. */
    private static final Pattern LIMIT = Pattern.compile("(Max .*?) {2,}(\\S+) +(\\S+) .*");

    private static final Pattern VERSION = Pattern.compile("\\b(\\d+\\.\\d+(?:\\.\\d+)?)\\b");

    private HostFacts() {}

    /** The size of a file system in bytes. {@code free} is -1 if the file system is not writable. */
    public record Space(long free, long total) {}

    /** The space of /dev/shm. */
    public static Space sharedMemory() {
        try {
            FileStore store = Files.getFileStore(SHARED_MEMORY);
            return new Space(Files.isWritable(SHARED_MEMORY) ? store.getUsableSpace() : -1, store.getTotalSpace());
        } catch (IOException e) {
            return new Space(-1, 0);
        }
    }

    /**
     * A limit of this process.
     *
     * @param name the kernel's name, such as "Max open files"
     * @param soft a number or "unlimited"; {@code hard} has the same form
     */
    public record Limit(String name, String soft, String hard) {}

    /** All limits of this process, which its workers inherit. */
    public static List<Limit> limits() {
        return lines(LIMITS)
                .map(LIMIT::matcher)
                .filter(Matcher::matches)
                .map(found -> new Limit(found.group(1), found.group(2), found.group(3)))
                .toList();
    }

    /** The range from which the kernel chooses a free port, such as {@code 32768-60999}; empty if unknown. */
    public static String portRange() {
        return lines(PORT_RANGE).findFirst().orElse("").strip().replaceAll("\\s+", "-");
    }

    /** The InfiniBand and RoCE devices. */
    public static List<String> rdmaDevices() {
        try (Stream<Path> devices = Files.list(RDMA_DEVICES)) {
            return devices.map(device -> device.getFileName().toString())
                    .sorted()
                    .toList();
        } catch (IOException e) {
            return List.of(); // no such hardware, or no driver
        }
    }

    /** The version of NVIDIA's driver, empty without a driver. */
    public static String gpuDriver() {
        return lines(GPU_DRIVER)
                .map(VERSION::matcher)
                .filter(Matcher::find)
                .map(found -> found.group(1))
                .findFirst()
                .orElse("");
    }

    /** The interface with {@code address}, such as {@code eth0, MTU 1500}; empty if there is none. */
    public static String interfaceOf(String address) {
        try {
            NetworkInterface found = NetworkInterface.getByInetAddress(InetAddress.ofLiteral(address));
            return found == null ? "" : found.getName() + ", MTU " + found.getMTU();
        } catch (SocketException | IllegalArgumentException e) {
            return "";
        }
    }

    /** Returns the {@code names} that this machine cannot resolve. */
    public static List<String> unknown(List<String> names) {
        return names.stream().filter(name -> !isKnown(name)).toList();
    }

    private static boolean isKnown(String name) {
        try {
            return InetAddress.getAllByName(name).length > 0;
        } catch (UnknownHostException e) {
            return false;
        }
    }

    private static Stream<String> lines(Path file) {
        try {
            return Files.readAllLines(file).stream();
        } catch (IOException e) {
            return Stream.empty();
        }
    }
}
