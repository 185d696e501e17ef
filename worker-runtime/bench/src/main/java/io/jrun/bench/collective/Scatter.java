package io.jrun.bench.collective;

/** Everybody gets its block of rank 0's input. */
final class Scatter implements Benched {
    @Override
    public String name() {
        return "scatter";
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
        cell.group().scatter(cell.input(), cell.result(), cell.type(), cell.block(), 0);
    }

    @Override
    public Expected expected(Cell cell) {
        long first = cell.rank() * cell.block();
        return new Expected(cell.block(), i -> cell.value(0, first + i));
    }
}
