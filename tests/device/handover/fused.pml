// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The hand-over of Tier1Fused (kernels/ebcot/tier1_fused.cuh) as a model for Spin: one group that
// models, two slots that code (lanes of the MQ warp), and the ring of decisions between them. Spin
// visits every interleaving. It shows:
//
// - a lane reads the decisions of the pass that its record names: room in the ring is given out
//   again only when the pass in it is coded or discarded;
// - no record and no entry of the list `given` is overwritten while it is in use;
// - passes that were modelled beyond a pause are discarded and not coded;
// - every run ends, and every block is then coded to its last plane or paused.
//
// The model follows the kernel's rules at a smaller size. Lanes run freely; the kernel runs them in
// rounds, which allows fewer interleavings. Memory is in order: what the kernel orders by acquire
// and release is not tested here, but by the shim. Counts are kept modulo 16, positions in the ring
// modulo kUnits, so that runs which differ only in their past meet in one state.
//
// FAULT plants an error that Spin must find:
//   1  room is taken back without a look at `consumed`
//   2  a group models ahead without limit
//   3  a pass is published before it is written
//   4  a lane consumes a pass before it has read it
//   5  a lane does not discard the passes of a block that it left
//   6  a pass may fill the whole ring
//   7  the list `given` is not checked for room
#ifndef FAULT
#define FAULT 0
#endif

#ifndef BLOCKS
#define BLOCKS 3
#endif
#ifndef PLANES
#define PLANES 2
#endif
#ifndef SMALL
#define SMALL 1 // units of a small pass; 0: without decisions
#endif
#define kSlots 2
#define kBlocks BLOCKS
#define kPlanes PLANES
#define kUnits 4      // of the ring
#define kAhead 1
#define kRecords 4    // kAhead, two passes of a plane, the end mark
#define kGiven (kSlots * kRecords)
#define kEnd 255      // block of the record after the last one
#if FAULT == 6
#define kMostUnits kUnits
#else
#define kMostUnits (kUnits / 2)
#endif

typedef Record {
  byte block, plane, place, units;
  bool first, ends_plane;
};
typedef Slot {
  Record records[kRecords];
  byte produced, consumed, done;
};

Slot slots[kSlots];
byte ring[kUnits];      // the pass that was written to a unit, as PASS(slot, number)
byte left[kBlocks + 1]; // planes of a block that are not coded, plus 1; 0: not assigned
bool over[kBlocks + 1]; // the lane has left the block
byte ended = 0;         // lanes that have ended

#define PASS(slot, number) ((slot) * 16 + (number) + 1)
#define NEXT(number) ((number + 1) & 15)
#define RECORD(slot, number) slots[slot].records[(number) % kRecords]

// Clears a record and its room, so that runs that differ only in what was read meet in one state.
inline clear(i) {
  k = 0;
  do
  :: k < RECORD(i, number).units -> ring[RECORD(i, number).place + k] = 0; k++
  :: else -> break
  od;
  k = 0;
  RECORD(i, number).block = 0;
  RECORD(i, number).plane = 0;
  RECORD(i, number).place = 0;
  RECORD(i, number).units = 0;
  RECORD(i, number).first = false;
  RECORD(i, number).ends_plane = false
}

// A step between two accesses to what the other side writes is one step of the model.

proctype Lane(byte i) {
  byte block = kEnd, number = 0, k;
  bool paused = false;
  do
  :: atomic {
      slots[i].produced != number ->
      if
      :: RECORD(i, number).block == kEnd -> break
      :: else
      fi;
      if
      :: RECORD(i, number).first ->
        assert(block == kEnd); // the lane has left the block before
        block = RECORD(i, number).block
      :: else
      fi
    };
    if
    :: block == kEnd && FAULT != 5 ->
      // Discards the pass.
      atomic {
        clear(i);
        number = NEXT(number);
        slots[i].consumed = number
      }
    :: else ->
#if FAULT == 4
      slots[i].consumed = NEXT(number);
#endif
      // Reads the decisions. What was written over before this step shows here.
      atomic {
        assert(block == RECORD(i, number).block);
        k = 0;
        do
        :: k < RECORD(i, number).units ->
          assert(ring[RECORD(i, number).place + k] == PASS(i, number));
          k++
        :: else -> break
        od;
        k = 0;
        // After a plane the lane goes on, or leaves the block: it pauses, or this was the last plane.
        if
        :: RECORD(i, number).ends_plane ->
          assert(left[block] == RECORD(i, number).plane + 2); // planes come in order, each once
          left[block]--;
          if
          :: paused = true
          :: RECORD(i, number).plane > 0 -> paused = false
          fi
        :: else
        fi;
        clear(i);
        number = NEXT(number);
        slots[i].consumed = number
      };
      if
      :: atomic { paused -> over[block] = true; left[block] = 1; block = kEnd; paused = false };
        slots[i].done = NEXT(slots[i].done)
      :: else
      fi
    fi
  od;
  ended++
}

#define WANTS(i) (!closed[i] && slots[i].done == assigned[i])
#define AHEAD(i) ((slots[i].produced - slots[i].consumed) & 15)
// Of a record at most kGiven behind `consumed`, and at most kRecords before it.
#define IS_CONSUMED(i, number) (((slots[i].consumed - number + 15) & 15) < kGiven)
#define MAY_MODEL(i) (planes[i] > 0 && (AHEAD(i) <= kAhead || FAULT == 2))

inline assign(i) {
  if
  :: WANTS(i) ->
    if
    :: taken == kBlocks ->
      closed[i] = true;
      planes[i] = 0;
      assert(AHEAD(i) < kRecords);
      RECORD(i, slots[i].produced).block = kEnd;
      slots[i].produced = NEXT(slots[i].produced)
    :: taken < kBlocks ->
      // A block without planes leaves the slot without a block.
      if :: planes[i] = kPlanes :: planes[i] = 0 fi;
      block[i] = taken;
      left[taken] = planes[i] + 1;
      over[taken] = planes[i] == 0;
      taken++;
      first[i] = true;
      if :: planes[i] > 0 -> assigned[i] = NEXT(assigned[i]) :: else fi
    fi
  :: else
  fi
}

// A record, and an entry of the list of room that was given out.
inline publish() {
  atomic {
    assert(AHEAD(slot) < kRecords);
    RECORD(slot, number).block = block[slot];
    RECORD(slot, number).plane = planes[slot] - 1;
    RECORD(slot, number).place = place;
    RECORD(slot, number).units = units;
    RECORD(slot, number).first = first[slot];
    RECORD(slot, number).ends_plane = passes == 1;
    first[slot] = false;
    assert(num_given < kGiven);
    k = (oldest + num_given) % kGiven;
    given_slot[k] = slot;
    given_number[k] = number;
    given_units[k] = skipped + units;
    num_given++;
    k = 0;
    slots[slot].produced = NEXT(number)
  }
}

proctype Group() {
  // What the group knows of its slots.
  byte block[kSlots], planes[kSlots], assigned[kSlots]; // planes to model; 0: none
  bool first[kSlots], closed[kSlots];
  byte taken = 0;
  byte place = 0, units, skipped, used = 0, k; // room in the ring, in units
  byte oldest = 0, num_given = 0;
  byte given_slot[kGiven], given_number[kGiven], given_units[kGiven];
  byte slot, ahead, passes, number;

next_task:
  // The kernel polls. Here the group waits until something that it polls has changed.
  WANTS(0) || WANTS(1) || MAY_MODEL(0) || MAY_MODEL(1) || (closed[0] && closed[1]);
  atomic { assign(0) };
  atomic { assign(1) };
  if
  :: closed[0] && closed[1] -> goto all_done
  :: else
  fi;
  // The slot with the fewest passes ahead.
  atomic {
    ahead = AHEAD(0);
    slot = (MAY_MODEL(0) -> 0 : kSlots)
  };
  atomic {
    if
    :: MAY_MODEL(1) && (slot == kSlots || AHEAD(1) < ahead) -> slot = 1
    :: else
    fi;
    ahead = 0;
    if
    :: slot == kSlots -> slot = 0; goto next_task
    :: else
    fi;
    passes = (first[slot] -> 1 : 2)
  };
  do
  :: passes > 0 ->
    // take_room
    atomic {
      if :: units = SMALL :: units = kMostUnits fi;
      skipped = (place + units > kUnits -> kUnits - place : 0)
    };
    do
    :: atomic {
        used + skipped + units > kUnits || (num_given == kGiven && FAULT != 7) ->
        assert(num_given > 0) // an empty ring has room for every pass
      };
      atomic {
        FAULT == 1 || IS_CONSUMED(given_slot[oldest], given_number[oldest]); // waits
        used = used - given_units[oldest];
        num_given--;
        given_slot[oldest] = 0;
        given_number[oldest] = 0;
        given_units[oldest] = 0;
        oldest = (oldest + 1) % kGiven
      }
    :: else -> break
    od;
    atomic {
      used = used + skipped + units;
      place = (skipped > 0 -> 0 : place);
      number = slots[slot].produced
    };
#if FAULT == 3
    publish();
#endif
    // Writes the decisions.
    d_step {
      k = 0;
      do
      :: k < units -> ring[place + k] = PASS(slot, number); k++
      :: else -> break
      od;
      k = 0
    };
#if FAULT != 3
    publish();
#endif
    atomic { passes--; place = (place + units) % kUnits }
  :: else -> break
  od;
  atomic { planes[slot]--; slot = 0; units = 0; skipped = 0; number = 0 };
  goto next_task;

all_done:
  ended == kSlots; // both lanes have seen their end marks
  k = 0;
  do
  :: k < kBlocks -> assert(left[k] > 0 && over[k]); k++
  :: else -> break
  od
}

init {
  atomic { run Group(); run Lane(0); run Lane(1) }
}
