package io.jrun.train.storage;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.DeviceFile;
import io.jrun.comm.cuda.GpuDirectStorage;
import io.jrun.comm.file.DirectFile;
import io.jrun.comm.file.UserFile;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads a file: into the memory of a GPU by GPUDirect Storage where this is possible, else into host memory. */
public final class FileObjectReader implements ObjectReader {
    /** The bytes of a piece are still in the processor's cache when the caller looks at the bytes. */
    private static final int PIECE_BYTES = 256 << 10;

    private final Path file;
    private final String key;
    private final FileChannel channel;
    private final Map<Device, Optional<DeviceFile>> onDevices = new HashMap<>();

    /**
     * Reads a file that is open as {@code channel}, which {@link #close} closes.
     *
     * @param key the result of {@link DirectFile#keyOf} before the channel was opened
     */
    public FileObjectReader(Path file, String key, FileChannel channel) {
        this.file = file;
        this.key = key;
        this.channel = channel;
    }

    /** Opens a regular file. */
    static FileObjectReader open(Path file) throws IOException {
        String key = DirectFile.keyOf(file);
        return new FileObjectReader(file, key, UserFile.open(file));
    }

    /** One line for each way in which this process has read files for GPUs since the last call, and why. */
    public static List<String> takeNotes() {
        return GpuDirectStorage.ofProcess().takeNotes();
    }

    @Override
    public int pieceBytes() {
        return PIECE_BYTES;
    }

    @Override
    public long size() throws IOException {
        return channel.size();
    }

    @Override
    public Device place(Device wanted) throws IOException {
        return wanted.type().equals("cuda") && onDevice(wanted).isPresent() ? wanted : Device.CPU;
    }

    @Override
    public void read(long position, ByteBuffer destination) throws IOException {
        readFully(channel, position, destination);
    }

    /**
     * Fills a buffer from a position of a file.
     *
     * @throws EOFException if the file ends before the buffer is full
     */
    public static void readFully(FileChannel channel, long position, ByteBuffer destination) throws IOException {
        long at = position;
        while (destination.hasRemaining()) {
            int count = channel.read(destination, at);
            if (count < 0) {
                throw new EOFException(
                        "the file ends at byte " + at + "; another process has shortened the file during the read");
            }
            at += count;
        }
    }

    @Override
    public void read(long position, MemorySegment destination, Device device) throws IOException {
        if (device.isCpu()) {
            ObjectReader.super.read(position, destination, device);
        } else {
            onDevice(device)
                    .orElseThrow(() -> new IllegalArgumentException(file + " is read into host memory"))
                    .read(position, destination);
        }
    }

    private synchronized Optional<DeviceFile> onDevice(Device device) throws IOException {
        Optional<DeviceFile> opened = onDevices.get(device);
        if (opened == null) {
            opened = GpuDirectStorage.ofProcess().open(file, key, device);
            onDevices.put(device, opened);
        }
        return opened;
    }

    @Override
    public synchronized void close() throws IOException {
        try (channel) {
            closeAll(onDevices.values().iterator());
        } finally {
            onDevices.clear();
        }
    }

    /** Closes each file, also if the close of another fails. */
    private static void closeAll(Iterator<Optional<DeviceFile>> files) {
        if (files.hasNext()) {
            try {
                files.next().ifPresent(DeviceFile::close);
            } finally {
                closeAll(files);
            }
        }
    }
}
