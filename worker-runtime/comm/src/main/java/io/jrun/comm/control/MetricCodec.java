package io.jrun.comm.control;

import io.jrun.comm.Metrics;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** The byte layout of {@link Frame.Metrics}: step, dropped reports, and a list of names and values. Stateless. */
final class MetricCodec {
    private MetricCodec() {}

    static void write(Frame.Metrics metrics, DataOutputStream out) throws IOException {
        out.writeLong(metrics.step());
        out.writeLong(metrics.dropped());
        out.writeInt(metrics.values().size());
        for (Map.Entry<String, Double> value : metrics.values().entrySet()) {
            out.writeUTF(value.getKey());
            out.writeDouble(value.getValue());
        }
    }

    /**
     * Reads a report.
     *
     * @throws IOException if {@link Metrics} does not allow the report
     */
    static Frame.Metrics read(DataInputStream in) throws IOException {
        long step = in.readLong();
        long dropped = in.readLong();
        int count = in.readInt();
        if (count < 0 || count > Metrics.MAX_NAMES) {
            throw new IOException("control frame claims " + count + " metrics (at most " + Metrics.MAX_NAMES + ")");
        }
        Map<String, Double> values = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            String name = in.readUTF();
            if (name.length() > Metrics.MAX_NAME_LENGTH) {
                throw new IOException("control frame has a metric whose name has " + name.length()
                        + " characters (at most " + Metrics.MAX_NAME_LENGTH + ")");
            }
            values.put(name, in.readDouble());
        }
        return new Frame.Metrics(step, values, dropped);
    }
}
