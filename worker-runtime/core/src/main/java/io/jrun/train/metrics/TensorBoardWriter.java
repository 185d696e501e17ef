package io.jrun.train.metrics;

import io.jrun.comm.file.OutputFile;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;

/**
 * Writes scalars as a TensorBoard event file: TFRecords of {@code tensorflow.Event} messages. A record is the length (8
 * bytes, little-endian), the masked CRC-32C of the length, the message, and its masked CRC-32C. Source:
 * tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto.
 *
 * <p>Confined to one thread. Each call of {@link #write} flushes the file: TensorBoard also shows running jobs.
 */
public final class TensorBoardWriter implements AutoCloseable {
    private static final int MASK_DELTA = 0xa282ead8;

    private final OutputStream out;
    private final Path file;

    private TensorBoardWriter(Path file) throws IOException {
        this.file = file;
        out = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    /**
     * Creates the event file {@code events.out.tfevents.SECONDS.HOST.PID.0} in {@code folder}, and creates the folder
     * if the folder is missing.
     *
     * @throws IOException if the file cannot be written
     */
    public static TensorBoardWriter open(Path folder) throws IOException {
        OutputFile.requireWritableFolder(folder);
        OutputFile.makeFolder(folder);
        long seconds = TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis());
        String end = "." + host() + "." + ProcessHandle.current().pid() + ".";
        for (int number = 0; ; number++) {
            Path file = folder.resolve("events.out.tfevents." + seconds + end + number);
            if (!Files.exists(file)) {
                TensorBoardWriter writer = new TensorBoardWriter(file);
                writer.record(ScalarEvent.version());
                return writer;
            }
        }
    }

    /** The name of this host. In a container or a network namespace the name may have no address. */
    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException _) {
            return "localhost";
        }
    }

    /** The event file. */
    public Path file() {
        return file;
    }

    /**
     * Writes the values of a step. TensorBoard shows a name with slashes in groups.
     *
     * @throws IOException if the file cannot be written
     */
    public void write(long step, Map<String, Double> values) throws IOException {
        record(ScalarEvent.scalars(System.currentTimeMillis() / 1e3, step, values));
    }

    private void record(byte[] event) throws IOException {
        ByteBuffer record = ByteBuffer.allocate(Long.BYTES + 2 * Integer.BYTES + event.length)
                .order(ByteOrder.LITTLE_ENDIAN);
        record.putLong(event.length);
        record.putInt(maskedCrc(record.array(), Long.BYTES));
        record.put(event);
        record.putInt(maskedCrc(event, event.length));
        out.write(record.array());
        out.flush();
    }

    /** A CRC of data that contains CRCs would be weak. The format therefore rotates the CRC and adds a constant. */
    static int maskedCrc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return Integer.rotateRight((int) crc.getValue(), 15) + MASK_DELTA;
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
