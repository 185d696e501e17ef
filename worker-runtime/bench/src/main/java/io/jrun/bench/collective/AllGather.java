package io.jrun.bench.collective;

/** Everybody gets everybody's block. */
final class AllGather implements Benched {
    @Override
    public String name() {
        return "allgather";
    }

    @Override
    public double busFactor(int ranks) {
        return (ranks - 1.0) / ranks;
    }

    @Override
    public boolean hasBlocks() {
        return true;
    }

    @Override
    public void run(Cell cell) {
        cell.group().allGather(cell.input(), cell.result(), cell.type(), cell.block());
    }

    @Override
    public Expected expected(Cell cell) {
        long block = cell.block();
        return new Expected(block * cell.group().size(), i -> cell.value(i / block, i % block));
    }
}
