package example;

import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import java.lang.foreign.MemorySegment;

/** A user's program, outside of jrun's packages: the runtime refuses what it asks for, below two methods of its own. */
public final class SendToNobody {
    private SendToNobody() {}

    /** Entry point. */
    public static void main(String[] args) {
        try (World world = Distributed.init()) {
            step(world.group());
        } catch (RuntimeException e) {
            throw new IllegalStateException("the step failed", e);
        }
    }

    private static void step(ProcessGroup group) {
        group.send(MemorySegment.ofArray(new int[4]), DataType.I32, 4, group.size());
    }
}
