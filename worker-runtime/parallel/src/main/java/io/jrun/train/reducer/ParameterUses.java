package io.jrun.train.reducer;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Records the parameters that this rank uses and the parameters that any rank uses. With a static graph, records also
 * how often the first pass added to each gradient. Confined as {@link GradientReducer}.
 */
final class ParameterUses {
    private final int parameterCount;
    private final boolean isStatic;
    private final boolean isSearching;
    /**
     * Two I32 for each parameter: first for all parameters the number of ranks that used the parameter, then for all the
     * number of ranks whose gradient lasts while some ranks have joined.
     */
    private final MemorySegment counts;
    /** Parameters that got a gradient since the last reduction, passes under noSync included. */
    private final BitSet usedHere = new BitSet();
    /** The number of additions of the current pass to each gradient. */
    private final int[] uses;
    /** Parameters of the first pass, each at its last use. */
    private final Set<Integer> lastUses = new LinkedHashSet<>();

    private final int[] expected;
    private boolean isRecorded;
    private BitSet usedAnywhere = new BitSet();
    private BitSet lastingAnywhere = new BitSet();
    private boolean isAgreed;
    private BitSet usedBefore = new BitSet();
    private boolean hasChanged;

    ParameterUses(int parameterCount, ReducerOptions options, ProcessGroup group) {
        this.parameterCount = parameterCount;
        this.isStatic = options.staticGraph();
        this.isSearching = options.searchesUnused();
        this.counts =
                isStatic || isSearching ? group.allocate(2L * parameterCount * Integer.BYTES) : MemorySegment.NULL;
        this.uses = new int[parameterCount];
        this.expected = new int[parameterCount];
    }

    void add(int parameter, boolean isSynchronised) {
        usedHere.set(parameter);
        if (isSynchronised) {
            uses[parameter]++;
            if (isRecording()) {
                lastUses.remove(parameter);
                lastUses.add(parameter);
            }
        }
    }

    /** Whether the current pass records the uses of a static graph. */
    boolean isRecording() {
        return isStatic && !isRecorded;
    }

    /** Ends the recording. Returns the used parameters in the order of their last use. */
    List<Integer> endRecording() {
        System.arraycopy(uses, 0, expected, 0, parameterCount);
        isRecorded = true;
        return List.copyOf(lastUses);
    }

    /** Whether this pass will not add to the gradient again. */
    boolean isComplete(int parameter) {
        return !isStatic || uses[parameter] == expected[parameter];
    }

    /** The parameters that each pass of a static graph uses. All parameters, if the graph is not static. */
    BitSet expectedSet() {
        BitSet set = new BitSet();
        for (int i = 0; i < parameterCount; i++) {
            set.set(i, !isStatic || expected[i] > 0);
        }
        return set;
    }

    /**
     * Whether the ranks must exchange their used parameters in this reduction. All ranks get the same result.
     *
     * @param haveJoined whether some ranks have no inputs left, and must learn which gradients the others have
     */
    boolean needsExchange(boolean haveJoined) {
        return isSearching || (isStatic && (!isAgreed || haveJoined));
    }

    /** Begins the exchange. {@code lasting} are the parameters of which this rank has a gradient. */
    Work exchange(ProcessGroup group, BitSet lasting) {
        for (int i = 0; i < parameterCount; i++) {
            counts.setAtIndex(ValueLayout.JAVA_INT, i, usedHere.get(i) ? 1 : 0);
            counts.setAtIndex(ValueLayout.JAVA_INT, parameterCount + i, lasting.get(i) ? 1 : 0);
        }
        return group.allReduceAsync(counts, DataType.I32, 2L * parameterCount, ReduceOp.SUM);
    }

    /** Reads the result of {@link #exchange}. */
    void exchanged() {
        if (isSearching || !isAgreed) {
            usedAnywhere = counted(0);
        }
        lastingAnywhere = counted(parameterCount);
        isAgreed = true;
    }

    private BitSet counted(int first) {
        BitSet counted = new BitSet();
        for (int i = 0; i < parameterCount; i++) {
            counted.set(i, counts.getAtIndex(ValueLayout.JAVA_INT, first + i) > 0);
        }
        return counted;
    }

    /** Whether a parameter may be left out by all ranks. */
    boolean mayBeUnused() {
        return isStatic || isSearching;
    }

    /** Whether this rank has computed a gradient of the parameter since the last reduction. */
    boolean isUsedHere(int parameter) {
        return usedHere.get(parameter);
    }

    /** Whether any rank has used the parameter. */
    boolean isUsedAnywhere(int parameter) {
        return !mayBeUnused() || usedAnywhere.get(parameter);
    }

    /** Whether a rank with inputs has a gradient of the parameter after a reduction. */
    boolean lastsAnywhere(int parameter) {
        return isUsedAnywhere(parameter) || lastingAnywhere.get(parameter);
    }

    /** Whether all reductions so far used the same parameters on this rank. */
    boolean isConstant() {
        return !hasChanged;
    }

    /** Parameters that this rank left out of its last reduction. */
    BitSet unused() {
        BitSet unused = new BitSet();
        unused.set(0, parameterCount);
        unused.andNot(usedBefore);
        return unused;
    }

    /** Clears the state of the current pass. */
    void reductionEnds(boolean isFirst) {
        hasChanged |= !isFirst && !usedBefore.equals(usedHere);
        usedBefore = (BitSet) usedHere.clone();
        usedHere.clear();
        Arrays.fill(uses, 0);
    }
}
