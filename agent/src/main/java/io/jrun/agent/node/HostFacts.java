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

/** What of this machine matters to jobs besides what workers are given, see {@link NodeProbe}. Stateless. */
public final class HostFacts {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Path GPU_DRIVER = Path.of("/proc/driver/nvidia/version");
    private static final Pattern OPEN_FILES = Pattern.compile("Max open files +(\\S+)");
    private static final Pattern VERSION = Pattern.compile("\\b(\\d+\\.\\d+(?:\\.\\d+)?)\\b");

    private HostFacts() {}

    /** A folder's file system; {@code free} is -1 where nothing can be written. */
    public record Space(long free, long total) {}

    /** Of /dev/shm. */
    public static Space sharedMemory() {
        try {
            FileStore store = Files.getFileStore(SHARED_MEMORY);
            return new Space(Files.isWritable(SHARED_MEMORY) ? store.getUsableSpace() : -1, store.getTotalSpace());
        } catch (IOException e) {
            return new Space(-1, 0);
        }
    }

    /** The soft limit of this process: a number or "unlimited", empty if unknown. */
    public static String openFiles() {
        return first(OPEN_FILES, LIMITS);
    }

    /** The version of NVIDIA's driver, empty without one. */
    public static String gpuDriver() {
        return first(VERSION, GPU_DRIVER);
    }

    /** The interface that has {@code address}, as {@code eth0, MTU 1500}; empty if there is none. */
    public static String interfaceOf(String address) {
        try {
            NetworkInterface found = NetworkInterface.getByInetAddress(InetAddress.ofLiteral(address));
            return found == null ? "" : found.getName() + ", MTU " + found.getMTU();
        } catch (SocketException | IllegalArgumentException e) {
            return "";
        }
    }

    /** Those of {@code names} that this machine does not know. */
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

    private static String first(Pattern pattern, Path file) {
        try {
            Matcher found = pattern.matcher(Files.readString(file));
            return found.find() ? found.group(1) : "";
        } catch (IOException e) {
            return "";
        }
    }
}
