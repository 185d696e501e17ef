package io.jrun.train.fsdp;

import io.jrun.train.optim.PaddedGradients;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/** The gradients of the shards of all units of a pass. Confined to the training thread. */
record GradientsOfUnits(FsdpPass pass) implements PaddedGradients {
    @Override
    public List<MemorySegment> segments() {
        return pass.units().stream()
                .map(unit -> unit.parameters().gradients().memory())
                .filter(PaddedMemory::isAllocated)
                .map(PaddedMemory::segment)
                .filter(segment -> segment.byteSize() > 0)
                .toList();
    }

    @Override
    public void drop(Set<Long> parameters) {
        pass.units().forEach(unit -> unit.parameters().dropGradients(parameters));
    }
}
