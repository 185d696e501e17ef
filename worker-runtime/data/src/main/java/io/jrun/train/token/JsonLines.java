package io.jrun.train.token;

import io.jrun.comm.file.UserFile;
import io.jrun.train.data.DataException;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.function.BooleanSupplier;

/** Reads JSON Lines: each line that is not blank is a record. Needs memory for one record. */
public final class JsonLines {
    /** A record is in memory as a whole. A longer line is no record, as a rule: the file is no JSON Lines. */
    private static final int MAX_RECORD_BYTES = 64 << 20;

    private JsonLines() {}

    /** Gets records. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Takes a record.
         *
         * @param line its number, from 1
         */
        void accept(long line, String record);
    }

    /**
     * Reads records.
     *
     * @param name of the file, for errors
     * @param isFull ends the reading before the next record
     * @throws DataException in one line, if a record is not UTF-8 or has more than 64 MiB
     */
    public static void read(String name, InputStream in, BooleanSupplier isFull, Handler handler) throws IOException {
        InputStream buffered = new BufferedInputStream(in);
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        long number = 0;
        int next = 0;
        while (next >= 0 && !isFull.getAsBoolean()) {
            number++;
            line.reset();
            for (next = buffered.read(); next >= 0 && next != '\n'; next = buffered.read()) {
                if (line.size() == MAX_RECORD_BYTES) {
                    throw new DataException(name + ", line " + number + " has more than " + MAX_RECORD_BYTES
                            + " bytes. Each line must be one JSON object.");
                }
                line.write(next);
            }
            String decoded = decode(name + ", line " + number, line.toByteArray());
            String record = number == 1 ? UserFile.withoutByteOrderMark(decoded) : decoded;
            if (!record.isBlank()) {
                handler.accept(number, record);
            }
        }
    }

    private static String decode(String location, byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new DataException(location + " is not UTF-8", e);
        }
    }
}
