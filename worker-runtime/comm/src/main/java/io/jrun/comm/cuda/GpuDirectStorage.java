package io.jrun.comm.cuda;

import io.jrun.comm.Device;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.file.DirectFile;
import io.jrun.comm.file.FileError;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * GPUDirect Storage in this process: a GPU reads files without a copy in host memory. libcufile is loaded when a file is
 * first read into the memory of a GPU. If the library, its driver or the file system does not allow it, files are read
 * through host memory, and a note says why. Thread-safe.
 */
public final class GpuDirectStorage {
    /** The variable that turns GPUDirect Storage off: {@code auto} or {@code off}. */
    public static final String VARIABLE = "JRUN_GPU_DIRECT_STORAGE";

    private static final String ON_HOST = " are read through host memory: ";

    private static final class OfProcess {
        static final GpuDirectStorage INSTANCE =
                new GpuDirectStorage(System.getenv().getOrDefault(VARIABLE, ""), GroupOptions.DEFAULT.timeout());
    }

    private final String setting;
    private final Duration timeout;
    private final Set<String> notes = new LinkedHashSet<>();
    private final Map<Device, DirectBuffer> buffers = new HashMap<>();
    private @Nullable CuFile library;
    private @Nullable Cuda cuda;

    /** Why the library is not used; null before the first file, and if the library is used. */
    private @Nullable String reason;

    /**
     * GPUDirect Storage with a setting, for tests.
     *
     * @param setting the value of {@link #VARIABLE}; empty is {@code auto}
     * @param timeout longest wait for a copy of the GPU
     */
    GpuDirectStorage(String setting, Duration timeout) {
        this.setting = setting.isEmpty() ? "auto" : setting;
        this.timeout = timeout;
    }

    /** GPUDirect Storage as this process uses it. */
    public static GpuDirectStorage ofProcess() {
        return OfProcess.INSTANCE;
    }

    /** Whether a value of {@link #VARIABLE} is usable. */
    public static boolean isSetting(String value) {
        return value.isEmpty() || value.equals("auto") || value.equals("off");
    }

    /** One line for each way in which files were read since the last call, and why. */
    public synchronized List<String> takeNotes() {
        List<String> taken = List.copyOf(notes);
        notes.clear();
        return taken;
    }

    /**
     * Opens a file for a GPU.
     *
     * @param key the identity of the file that the caller has opened, see {@link DirectFile#keyOf}. If another file has
     *     the path now, the caller reads its own file through host memory
     * @return empty if files are read through host memory; a note then says why
     * @throws IOException if {@link #VARIABLE} has an unusable value
     */
    public synchronized Optional<DeviceFile> open(Path file, String key, Device device) throws IOException {
        if (!isSetting(setting)) {
            throw new IOException(VARIABLE + "=" + setting + " is neither auto nor off");
        }
        if (!isUsable(device)) {
            notes.add("files" + ON_HOST + reason);
            return Optional.empty();
        }
        String where = "files in " + file.toAbsolutePath().getParent();
        try {
            DeviceFile opened = register(file, key, device);
            notes.add(where + " are read into the memory of the GPU by GPUDirect Storage");
            return Optional.of(opened);
        } catch (IOException | IllegalStateException e) {
            notes.add(where + ON_HOST + FileError.reason(e, file));
            return Optional.empty();
        }
    }

    private boolean isUsable(Device device) {
        if (library == null && reason == null) {
            if (setting.equals("off")) {
                reason = VARIABLE + "=off";
            } else {
                load(device);
            }
        }
        return library != null;
    }

    private void load(Device device) {
        try {
            CuFile loaded = CuFile.open();
            Cuda runtime = Cuda.open();
            runtime.use(device.index());
            loaded.openDriver();
            if (loaded.isDirect()) {
                library = loaded;
                cuda = runtime;
            } else {
                loaded.closeDriver();
                reason = CuFile.FILE + " finds neither the kernel module nvidia-fs nor peer-to-peer transfers of NVMe";
            }
        } catch (MissingLibraryException | IllegalStateException | IOException e) {
            reason = FileError.reason(e);
        }
    }

    private DeviceFile register(Path file, String key, Device device) throws IOException {
        CuFile ready = Objects.requireNonNull(library);
        Cuda runtime = Objects.requireNonNull(cuda);
        runtime.use(device.index());
        DirectFile direct = DirectFile.open(file);
        try {
            if (!direct.key().equals(key)) {
                throw new IOException("another process has replaced " + file.getFileName());
            }
            DirectBuffer buffer = buffers.get(device);
            if (buffer == null) {
                buffer = DirectBuffer.allocate(ready, runtime, device, timeout);
                buffers.put(device, buffer);
            }
            buffer.addUser();
            try {
                DeviceFile opened =
                        new DeviceFile(this, ready, direct, ready.registerFile(direct.descriptor()), buffer);
                direct = null;
                return opened;
            } finally {
                if (direct != null) {
                    release(buffer);
                }
            }
        } finally {
            if (direct != null) {
                direct.close();
            }
        }
    }

    /** A file does not use a buffer any more. The last file frees the buffer. */
    synchronized void release(DirectBuffer buffer) {
        if (buffer.removeUser()) {
            buffers.remove(buffer.device());
            buffer.close();
        }
    }
}
